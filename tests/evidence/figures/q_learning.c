/* Q-learning on tic-tac-toe as one writes it first: step by step what CompiledQLearning does, and
 * nothing done for speed.
 *
 * usage: q_learning STEPS SEED      prints CPU seconds, ended episodes, sum of rewards
 */
#include "tictactoe.h"

static float q[STATES][CELLS];

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
    build_tables();
    for (int s = 0; s < STATES; s++)
        for (int cell = 0; cell < CELLS; cell++) q[s][cell] = first_value(s, cell);
    const double begin = cpu_seconds();

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

    printf("%.9f %" PRId64 " %.1f\n", cpu_seconds() - begin, n_episodes, rewards);
    return 0;
}
