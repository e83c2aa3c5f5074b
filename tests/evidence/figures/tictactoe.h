/* The rules of tic-tac-toe as tables, random numbers and a clock: what the C programs share. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CELLS = 9, STATES = 19683, GOES_ON = 0, AGENT = 1, OPPONENT = 2, DRAWN = 3 };

static const int lines[8][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6},
                                {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};
static int64_t powers[CELLS];
static uint8_t standing[STATES], n_empty[STATES], empty[STATES][CELLS];

static int has_line(const int *board, int player) {
    for (int i = 0; i < 8; i++)
        if (board[lines[i][0]] == player && board[lines[i][1]] == player &&
            board[lines[i][2]] == player)
            return 1;
    return 0;
}

static void build_tables(void) {
    for (int64_t cell = 0, power = 1; cell < CELLS; cell++, power *= 3) powers[cell] = power;
    for (int s = 0; s < STATES; s++) {
        int board[CELLS], n = 0;
        for (int cell = 0; cell < CELLS; cell++) {
            board[cell] = s / powers[cell] % 3;
            if (board[cell] == 0) empty[s][n++] = (uint8_t)cell;
        }
        n_empty[s] = (uint8_t)n;
        standing[s] = has_line(board, AGENT)      ? AGENT
                      : has_line(board, OPPONENT) ? OPPONENT
                      : n == 0                    ? DRAWN
                                                  : GOES_ON;
    }
}

/* The table before training: minus infinity where no action is legal. */
static inline float first_value(int s, int cell) {
    return cell < CELLS && s / powers[cell] % 3 == 0 && standing[s] == GOES_ON ? 0.0f : -INFINITY;
}

/* SplitMix64 */
static inline uint64_t next(uint64_t *counter) {
    uint64_t z = *counter += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int64_t first_state(uint64_t draw) {
    return draw >> 31 ? OPPONENT * powers[(draw & 0x7FFFFFFF) * CELLS >> 31] : 0;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
