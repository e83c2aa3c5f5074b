/* Q-learning on tic-tac-toe as fast as we know how to write it in C, for a processor with AVX-512.
 *
 * Rows are padded to a cache line, and a row's best action is three instructions on one vector.
 * GAMES are played on one table, a step of each in turn, so that none waits for another's memory.
 * With KEPT each row's best action is kept, and looked for when the row is written; the board after
 * a reply is one look-up: the way that CompiledQLearning goes.
 *
 * usage: q_learning_rows STEPS SEED      prints CPU seconds, ended episodes, sum of rewards
 */
#include "tictactoe.h"

#include <immintrin.h>

#ifndef GAMES
#define GAMES 1
#endif
#ifndef KEPT
#define KEPT 0
#endif

struct game {
    int64_t s;
    uint64_t counter;
    int best;
};

static float q[STATES][16] __attribute__((aligned(64)));
#if KEPT
static uint8_t kept[STATES];
static int16_t replies[STATES][CELLS]; /* less than 0 where the game is over */
#endif

static inline float greatest(__m512 row) { return _mm512_reduce_max_ps(row); }

static inline int first_of(__m512 row, float value) {
    return __builtin_ctz(_mm512_cmp_ps_mask(row, _mm512_set1_ps(value), _CMP_EQ_OQ));
}

static inline int best_of(int64_t s, float *value) {
    const __m512 row = _mm512_load_ps(q[s]);
    *value = greatest(row);
    return first_of(row, *value);
}

static void build(void) {
    build_tables();
    for (int s = 0; s < STATES; s++)
        for (int cell = 0; cell < 16; cell++) q[s][cell] = first_value(s, cell);
#if KEPT
    for (int s = 0; s < STATES; s++) {
        kept[s] = empty[s][0];
        for (int k = 0; k < CELLS; k++) {
            const int plays = standing[s] == GOES_ON && k < n_empty[s];
            const int64_t after = plays ? s + OPPONENT * powers[empty[s][k]] : s;
            replies[s][k] = (int16_t)(standing[after] == GOES_ON ? after : after | 0x8000);
        }
    }
#endif
}

static inline void begin_game(struct game *game) {
    game->s = first_state(next(&game->counter) >> 32);
#if !KEPT
    float value;
    game->best = best_of(game->s, &value);
#endif
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int64_t n_steps = strtoll(argv[1], NULL, 10) / GAMES;
    const uint64_t seed = strtoull(argv[2], NULL, 10);
    const float alpha = 0.3f, discount = 0.95f;
    double epsilon = 1.0, rewards = 0.0;
    uint64_t limit = (uint64_t)(epsilon * 4294967296.0);
    int64_t n_episodes = 0;
    struct game games[GAMES];
    build();
    const double begin = cpu_seconds();

    for (int i = 0; i < GAMES; i++) {
        games[i].counter = seed + ((uint64_t)i << 60);
        begin_game(&games[i]);
    }
    for (int64_t i = 0; i < n_steps; i++)
#pragma GCC unroll 8
        for (int j = 0; j < GAMES; j++) {
            struct game *game = &games[j];
            const int64_t s = game->s;
            const uint64_t bits = next(&game->counter);
            int64_t s_t;
            float reward, target;
            int terminated;
            int a = KEPT ? 0 : game->best;
#if KEPT
            a = kept[s];
#endif
            if (__builtin_expect((bits & 0xFFFFFFFF) < limit, 0))
                a = empty[s][(next(&game->counter) >> 32) * n_empty[s] >> 32];
#if KEPT
            const int16_t reply = replies[s + powers[a]][(bits >> 32) * (n_empty[s] - 1) >> 32];
            s_t = reply & 0x7FFF;
            terminated = reply < 0;
            reward = (float)(standing[s_t] == AGENT) - (float)(standing[s_t] == OPPONENT);
            target = reward + (terminated ? 0.0f : discount * q[s_t][kept[s_t]]);
            const float value = q[s][a] + alpha * (target - q[s][a]);
            const __m512 row =
                _mm512_mask_mov_ps(_mm512_load_ps(q[s]), 1 << a, _mm512_set1_ps(value));
            q[s][a] = value;
            kept[s] = (uint8_t)first_of(row, greatest(row));
#else
            reward = 0.0f;
            terminated = 1;
            s_t = s + powers[a];
            if (standing[s_t] != GOES_ON) {
                target = reward = standing[s_t] == AGENT ? 1.0f : 0.0f;
            } else {
                s_t += OPPONENT * powers[empty[s_t][(bits >> 32) * n_empty[s_t] >> 32]];
                if (standing[s_t] != GOES_ON) {
                    target = reward = standing[s_t] == OPPONENT ? -1.0f : 0.0f;
                } else {
                    float value;
                    terminated = 0;
                    game->best = best_of(s_t, &value);
                    target = discount * value;
                }
            }
            q[s][a] += alpha * (target - q[s][a]);
#endif
            rewards += reward;
            game->s = s_t;
            if (terminated) {
                n_episodes++;
                epsilon = fmax(epsilon * 0.999, 0.05);
                limit = (uint64_t)(epsilon * 4294967296.0);
                if (i + 1 < n_steps) begin_game(game);
            }
        }

    printf("%.9f %" PRId64 " %.1f\n", cpu_seconds() - begin, n_episodes, rewards);
    return 0;
}
