/* Q-learning on tic-tac-toe: the yardstick for CompiledQLearning, step by step the same algorithm.
 *
 * usage: q_learning STEPS SEED      prints CPU seconds, ended episodes, sum of rewards
 */
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
static float q[STATES][CELLS];

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
        for (int cell = 0; cell < CELLS; cell++)
            q[s][cell] = board[cell] == 0 && standing[s] == GOES_ON ? 0.0f : -INFINITY;
    }
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

static inline int best_of(const float *row, float *value) {
    int action = 0;
    *value = row[0];
    for (int a = 1; a < CELLS; a++)
        if (row[a] > *value) {
            *value = row[a];
            action = a;
        }
    return action;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int64_t n_steps = strtoll(argv[1], NULL, 10);
    uint64_t counter = strtoull(argv[2], NULL, 10);
    const float alpha = 0.3f, discount = 0.95f;
    double epsilon = 1.0, rewards = 0.0;
    uint64_t limit = (uint64_t)(epsilon * 4294967296.0);
    int64_t n_episodes = 0;
    struct timespec begin, end;
    build_tables();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);

    float value;
    int64_t s = first_state(next(&counter) >> 32);
    int best = best_of(q[s], &value);
    for (int64_t i = 0; i < n_steps; i++) {
        const uint64_t bits = next(&counter);
        int a = best;
        if ((bits & 0xFFFFFFFF) < limit) a = empty[s][(next(&counter) >> 32) * n_empty[s] >> 32];
        float *entry = &q[s][a];
        int64_t s_t = s + powers[a];
        float reward = 0.0f, target;
        int terminated = 1;
        if (standing[s_t] != GOES_ON) {
            target = reward = standing[s_t] == AGENT ? 1.0f : 0.0f;
        } else {
            s_t += OPPONENT * powers[empty[s_t][(bits >> 32) * n_empty[s_t] >> 32]];
            if (standing[s_t] != GOES_ON) {
                target = reward = standing[s_t] == OPPONENT ? -1.0f : 0.0f;
            } else {
                terminated = 0;
                best = best_of(q[s_t], &value);
                target = discount * value;
            }
        }
        *entry += alpha * (target - *entry);
        rewards += reward;
        if (terminated) {
            n_episodes++;
            epsilon = fmax(epsilon * 0.999, 0.05);
            limit = (uint64_t)(epsilon * 4294967296.0);
            if (i + 1 < n_steps) {
                s_t = first_state(next(&counter) >> 32);
                best = best_of(q[s_t], &value);
            }
        }
        s = s_t;
    }

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%.9f %" PRId64 " %.1f\n", seconds, n_episodes, rewards);
    return 0;
}
