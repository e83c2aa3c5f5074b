"""Commands of the docs that no walk of a page runs (`tests/docs/walks`), each with who does.

A command that is neither in a walk nor here fails a test.
"""

from collections.abc import Mapping

COMMANDS = "tests/commands"
WHOLE = "tests/integration"
AGENTS = "tests/rl_impls/commands"

BISECTED = f"{WHOLE}/test_bisect.py::test_the_commit_that_made_it_slower_is_found"
PROVED = f"{WHOLE}/test_prove.py::test_unchanged_code_is_not_called_slower_and_slowed_code_is"
ACCEPTED = f"{WHOLE}/test_accept.py::test_accepting_says_what_was_taken_over_and_where_it_is"
APPENDED = f"{COMMANDS}/test_history.py::test_by_default_it_goes_to_a_branch_of_its_own"
REPORTED = (
    f"{COMMANDS}/test_report.py::test_all_three_files_are_those_that_the_run_would_have_written"
)
COMPARED = (
    f"{COMMANDS}/test_compare.py::"
    "test_both_values_their_change_and_both_verdicts_stand_side_by_side"
)
DEMONSTRATED = f"{COMMANDS}/test_demo.py::test_it_measures_and_names_the_report"
DUETS = f"{COMMANDS}/test_duet.py"
EXPLAINED = f"{COMMANDS}/test_explain.py::" + (
    "test_without_a_name_the_worst_is_explained_and_the_others_are_listed"
)
EXPLAINED_ONE = f"{COMMANDS}/test_explain.py::" + (
    "test_a_test_is_named_by_its_node_id_or_a_part_that_no_other_has"
)
ASSISTED = f"{WHOLE}/test_mcp.py::test_each_answers_in_a_few_lines"
NOTIFIED = f"{COMMANDS}/test_notify.py::test_a_regression_is_posted_worst_first"
COMMENTED = f"{COMMANDS}/comment/test_comment.py::" + (
    "test_the_report_becomes_a_comment_that_leads_to_the_run"
)
IN_A_JOB = f"{WHOLE}/test_action.py::" + (
    "test_a_pull_request_is_compared_and_leaves_its_number_beside_the_report"
)
RECORDED = f"{WHOLE}/test_action.py::" + (
    "test_the_main_branch_is_compared_with_its_baselines_which_are_renewed_on_the_data_branch"
)
UPGRADED = f"{WHOLE}/test_upgrade.py::test_a_library_that_gets_slower_is_named_with_the_test"
ELSEWHERE = f"{WHOLE}/test_two_environments.py::test_a_library_that_got_slower_is_found"
MERGED = f"{WHOLE}/test_shards.py::" + (
    "test_the_union_of_the_shards_has_the_outcomes_of_the_whole"
)
SHARDS_IN_JOBS = f"{WHOLE}/test_shards.py::" + (
    "test_jobs_of_a_matrix_and_one_that_merges_leave_one_comment"
)
SCALED = f"{COMMANDS}/test_scale.py::test_every_workload_gets_rows_for_4_to_256_nodes"
JOBS = "tests/docs/test_scale_jobs.py"
SHOWN = f"{JOBS}::test_a_table_of_the_page_is_what_the_command_prints"
STORED = f"{WHOLE}/test_baseline.py::test_a_slower_test_fails_the_run"
COMPARED_PRESETS = (
    "tests/evidence/figures/test_first_pipeline.py::"
    "test_presets_do_the_same_work_and_the_figures_of_both_are_told"
)

TESTED: Mapping[str, str] = {
    "rlperf demo": DEMONSTRATED,
    "rlperf demo --folder demo": DEMONSTRATED,
    "python -m tests.browser demo/report/report.html pictures": "tests/browser/"
    "test_report_page.py::test_pictures_for_people_are_taken_in_light_and_dark",
    "rlperf upgrade": UPGRADED,
    "rlperf upgrade 'numpy==2.4.6' -- tests": UPGRADED,
    "rlperf upgrade 'numpy==2.5.0' 'torch==2.14' -- tests/perf": UPGRADED,
    "rlperf upgrade --python 3.13 -- tests/perf": f"{WHOLE}/test_upgrade.py::"
    "test_another_python_is_made_of_the_same_distributions",
    "pytest --rlperf --rlperf-against-python=../old/.venv": ELSEWHERE,
    "pytest --rlperf --rlperf-baseline=before": STORED,
    "pytest --rlperf --rlperf-save=before": f"{WHOLE}/test_save.py::"
    "test_a_save_says_where_the_baseline_is",
    "pytest --rlperf -k learns --rlperf-budget=1800": f"{WHOLE}/test_learning.py::"
    "test_other_draws_of_the_same_skill_pass",
    "python -m tests.evidence.zoo run --out docs/proof/zoo.jsonl": "tests/evidence/zoo/"
    "test_zoo.py::test_each_change_is_tried_once_and_taken_back",
    "python -m tests.learning.real_rates 200": "tests/learning/test_real_returns.py::"
    "test_the_table_has_a_row_a_change",
    "pytest --rlperf --rlperf-prove": PROVED,
    "pytest --rlperf --rlperf-prove tests/perf --rlperf-budget=120": PROVED,
    'pytest --rlperf --rlperf-against="${BEFORE}" --rlperf-json=result.json tests/perf': (
        f"{WHOLE}/test_json.py::test_all_keys_of_the_schema_are_there"
    ),
    "rlperf accept": ACCEPTED,
    "rlperf accept --reason TEXT": ACCEPTED,
    'rlperf accept --reason "checks its input now"': ACCEPTED,
    "rlperf bisect": BISECTED,
    "rlperf bisect GOOD BAD -- NODEID": BISECTED,
    "rlperf bisect HEAD~5 HEAD -- "
    "'tests/perf/test_tabular.py::test_training_on_tictactoe[list]'": BISECTED,
    "rlperf cache": "tests/commands/test_cache.py::test_each_kind_is_told_with_its_size",
    "rlperf ci": IN_A_JOB,
    "rlperf ci compare": IN_A_JOB,
    "rlperf ci compare --against=origin/main...": IN_A_JOB,
    "rlperf ci record": RECORDED,
    "rlperf ci keep": RECORDED,
    "rlperf ci merge": SHARDS_IN_JOBS,
    "pytest --rlperf --rlperf-shard=2/4 --rlperf-json=shard2.json": MERGED,
    "rlperf merge": MERGED,
    "rlperf merge shard1.json shard2.json shard3.json shard4.json --output result.json "
    "--report rlperf-report": MERGED,
    "rlperf merge --onto full.json part.json --output full.json --report rlperf-report": (
        f"{WHOLE}/test_shards.py::test_a_run_of_some_tests_is_laid_over_the_full_result"
    ),
    "rlperf comment": COMMENTED,
    "rlperf comment rlperf-report": COMMENTED,
    "rlperf compare": COMPARED,
    "rlperf compare before.json after.json": COMPARED,
    "rlperf duet": f"{DUETS}::test_a_command_is_as_fast_as_itself",
    "rlperf duet 'python old.py' 'python new.py'": f"{DUETS}::"
    "test_a_slower_command_fails_and_one_that_is_faster_does_not",
    "rlperf export": f"{COMMANDS}/test_export.py::test_pytest_benchmark_compares_exported_files",
    "rlperf explain": EXPLAINED,
    "rlperf explain result.json": EXPLAINED,
    "rlperf explain RESULT.json NODEID": EXPLAINED_ONE,
    "pytest --rlperf --rlperf-against=HEAD --rlperf-terse": f"{WHOLE}/test_terse.py::"
    "test_nothing_else_is_printed_and_what_is_plainly_fine_is_only_counted",
    "rlperf history": APPENDED,
    "rlperf history append": APPENDED,
    "rlperf history append RESULT.json": APPENDED,
    "rlperf mcp": ASSISTED,
    "rlperf notify": NOTIFIED,
    "rlperf notify rlperf-report/report.json --webhook-env CHAT": NOTIFIED,
    "rlperf pre-push": f"{WHOLE}/test_hook.py::"
    "test_a_slower_commit_is_stopped_and_the_tests_left_out_are_named",
    "rlperf report": REPORTED,
    "rlperf report RESULT.json --out DIR": REPORTED,
    "rlperf report RESULT.json --file history.jsonl": (
        f"{COMMANDS}/test_report.py::test_the_page_has_the_trends_of_the_history_that_is_named"
    ),
    "rlperf scale": SCALED,
    "rlperf scale docs/scale-jobs/*.json": f"{JOBS}::test_each_job_of_two_ranks_is_told_unseen",
    "rlperf scale docs/scale-jobs/TicTacToe*.json --sync-period 262144": SHOWN,
    "rlperf scale docs/scale-jobs/TicTacToe*.json --sync-period 262144 --latency 50us "
    "--bandwidth 10Gbit --target 95% --published 4=94.5%,8=90.3%,16=77.6%": SHOWN,
    "rlperf scale jobs/*.json --plot scaling.svg": f"{COMMANDS}/test_scale.py::"
    "test_measured_and_modelled_are_drawn_together",
    "rlperf trend --fetch REMOTE": f"{COMMANDS}/test_trend.py::test_a_branch_can_be_fetched_first",
    "python -m rl_impls list dqn": f"{AGENTS}/test_list.py::test_presets_are_told",
    "python -m rl_impls train CartPole-v1 --agent dqn --steps 20000 --set discount=0.98 "
    "--set hidden=64,64 --save agent.npz": (
        f"{AGENTS}/test_train_agent.py::test_every_setting_can_be_set"
    ),
    "python -m rl_impls evaluate agent.npz --episodes 20 --best": (
        f"{AGENTS}/test_evaluate.py::test_it_plays_elsewhere_and_its_best_checkpoint_where_one_says"
    ),
    "python -m rl_impls evaluate agent.npz rl_impls/CartPole-v1": (
        f"{AGENTS}/test_evaluate.py::test_it_plays_elsewhere_and_its_best_checkpoint_where_one_says"
    ),
    "python -m rl_impls compare": f"{AGENTS}/test_compare.py::test_the_table_has_a_line_for_each",
    "python -m rl_impls compare TicTacToe-v0 --steps 100000": f"{AGENTS}/test_compare.py::"
    "test_the_table_has_a_line_for_each",
    "python -m rl_impls": f"{AGENTS}/test_train.py::"
    "test_every_agent_trains_and_stdout_holds_nothing_but_the_result",
    "python -m rl_impls train TicTacToe-v0 --agent compiled --steps 1000000": (
        f"{AGENTS}/test_train.py::test_every_agent_trains_and_stdout_holds_nothing_but_the_result"
    ),
    "python -m rl_impls train TicTacToe-v0 --agent compiled --runtime parallel --steps 5000000 "
    "--json -": f"{AGENTS}/test_train.py::test_a_program_trains_in_parallel_with_exactly_its_steps",
    "mpiexec -n 2 python -m rl_impls train TicTacToe-v0 --agent compiled --runtime mpi-async "
    "--steps 100000000": "tests/rl_impls/commands/test_train_mpi.py::"
    "test_a_killed_rank_ends_the_job_at_once_and_a_resumed_one_goes_on",
    "mpiexec -n 2 python -m rl_impls train TicTacToe-v0 --agent compiled --runtime mpi-sync "
    "--steps 100000000": "tests/rl_impls/commands/test_train_mpi.py::"
    "test_a_killed_rank_ends_the_job_at_once_and_a_resumed_one_goes_on",
    "mpiexec --with-ft ulfm -n 3 python -m rl_impls train TicTacToe-v0 --agent compiled "
    "--runtime mpi-sync --steps 100000000": "tests/rl_impls/runtimes/mpi/test_survivors.py::"
    "test_ranks_that_average_tables_make_all_the_steps",
    "mpiexec -n 2 python -m rl_impls train CartPole-v1 --agent ppo --runtime mpi-ppo "
    "--steps 150000": "tests/rl_impls/commands/test_train_mpi_agent.py::"
    "test_ranks_average_gradients_and_one_process_can_go_on_from_their_checkpoint",
    "mpiexec -n 3 python -m rl_impls train CartPole-v1 --agent dqn --runtime mpi-central "
    "--steps 50000": "tests/rl_impls/commands/test_train_mpi_agent.py::"
    "test_worker_ranks_step_and_rank_0_learns",
    "python -m rl_impls train rl_impls/CartPole-v1 --agent dqn --steps 100000 --seed 0 "
    "--json result.json": f"{AGENTS}/test_train_agent.py::"
    "test_every_agent_trains_and_tells_what_a_learner_of_a_table_does",
    "python -m rl_impls train rl_impls/CartPole-v1 --agent qr-dqn --runtime actor-learner "
    "--actors 2 --steps 50000 --save agent.npz": f"{AGENTS}/test_train_actors.py::"
    "test_actors_train_an_agent_and_the_result_tells_of_them",
    "python -m rl_impls train rl_impls/CartPole-v1 --agent ppo --backend jax --steps 100000": (
        "tests/rl_impls/backends/test_backends.py::test_the_command_line_trains_with_them"
    ),
    "python -m rl_impls train rl_impls/SideScroller-v0 --agent pixel-dqn --steps 40000 "
    "--json result.json": "tests/rl_impls/backends/test_pixel_dqn.py::"
    "test_the_command_line_trains_it_and_goes_on_from_a_file",
    "python -m tests.evidence.proof.memory.timing 6": "tests/evidence/proof/test_memory_timing.py::"
    "test_a_run_tells_the_ratio_of_what_the_gate_read_for_twins",
    "make frameworks": "tests/evidence/frameworks/test_frameworks_sides.py::test_a_side_runs",
    "python -m tests.evidence.figures.presets 5 100000 apart": COMPARED_PRESETS,
    "python -m tests.evidence.figures.presets 15": COMPARED_PRESETS,
    "make learn": "tests/learns/test_agents_learn.py::test_ppo_learns",
    "python -m tests.evidence.learning run --out docs/learning/deep.jsonl": "tests/evidence/"
    "learning/test_learning_run.py::"
    "test_both_sides_of_a_task_are_trained_on_ten_seeds_and_never_twice",
    "python -m tests.evidence.learning same": "tests/evidence/learning/test_same_updates.py::"
    "test_equal_weights_batches_and_noise_become_equal_networks",
    "make peers": "tests/evidence/peers/test_peers_sides.py::test_our_side_runs",
    "python -m tests.evidence.figures.memory": "tests/rl_impls/tabular/test_memory.py::"
    "test_training_takes_at_most_ten_megabytes_more_than_its_control",
    "python -m tests.rl_impls.runtimes.actor_learner.weights_stress 60": (
        "tests/rl_impls/runtimes/actor_learner/test_weights.py::"
        "test_no_copy_is_torn_however_often_weights_are_published"
    ),
    "python -m tests.evidence.proof": "tests/evidence/proof/test_proof_run.py::"
    "test_a_run_records_every_test_and_resumes_where_it_stopped",
    "python -m tests.evidence.proof readings docs/proof/verdicts.jsonl": "tests/evidence/proof/"
    "test_proof_table.py::test_the_figures_of_the_docs_are_those_of_the_records",
    "python -m tests.docs.reference": "tests/docs/test_reference.py::"
    "test_the_page_is_what_the_code_says",
    "make docs": "tests/docs/test_make.py::test_the_site_builds_without_a_warning",
    "make test-pythons": "tests/docs/test_make.py::"
    "test_pythons_that_are_not_here_are_named_and_what_ran_is_said",
    "make test-lowest": "tests/docs/test_make.py::"
    "test_the_lock_of_lowest_versions_has_those_that_pyproject_allows",
    "make lock": "tests/docs/test_make.py::test_a_lock_pins_every_extra_that_the_tests_need",
}
"""By the node id of the test. One command may stand for several ways of writing it."""

SHORTENED: Mapping[str, str] = {
    "python -m tests.shards.false_alarms 1000": "python -m tests.shards.false_alarms 1",
    "python -m tests.history.trend_rates 2000": "python -m tests.history.trend_rates 1",
    "python -m tests.evidence.learning table docs/learning/deep.jsonl": (
        "python -m tests.evidence.learning table docs/learning/deep.jsonl"
    ),
    "python -m tests.evidence.figures 9": "python -m tests.evidence.figures 1",
    "python -m tests.evidence.figures.insert 7": "python -m tests.evidence.figures.insert 1",
    "python -m tests.evidence.figures.blocking 7": (
        "python -m tests.evidence.figures.blocking 1 1000"
    ),
    "python -m tests.evidence.figures.efficiency 20": (
        "python -m tests.evidence.figures.efficiency 1 1000000"
    ),
    "python -m tests.evidence.figures.mpi 15": "python -m tests.evidence.figures.mpi 1 100000",
    "python -m tests.evidence.figures.mpi_agents 9": (
        "python -m tests.evidence.figures.mpi_agents 1 256 dqn-2-ranks"
    ),
    "python -m tests.evidence.figures.scale_jobs jobs 3": (
        "python -m tests.evidence.figures.scale_jobs {folder}/jobs 1 0.001 Taxi-v4"
    ),
    "python -m tests.evidence.figures.envs 7": "python -m tests.evidence.figures.envs 1",
    "python -m tests.evidence.figures.pipeline burning 20": (
        "python -m tests.evidence.figures.pipeline burning 1 100"
    ),
    "python -m tests.evidence.figures.transport 7": (
        "python -m tests.evidence.figures.transport 1 5000"
    ),
    "python -m tests.evidence.figures.nets 7": "python -m tests.evidence.figures.nets 1",
    "python -m tests.evidence.frameworks table docs/frameworks/figures.jsonl": (
        "python -m tests.evidence.frameworks table docs/frameworks/figures.jsonl"
    ),
    "python -m tests.evidence.peers table docs/peers/deep.jsonl": (
        "python -m tests.evidence.peers table docs/peers/deep.jsonl"
    ),
    "python -m tests.evidence.duet run --out FILE": (
        "python -m tests.evidence.duet run --out {folder}/duet.jsonl --no-load --minutes 0"
    ),
    "python -m tests.evidence.duet stops 1000": "python -m tests.evidence.duet stops 2",
    "python -m tests.evidence.duet table FILE": (
        "python -m tests.evidence.duet table {folder}/duet.jsonl"
    ),
    "python -m tests.evidence.proof run --out FILE.jsonl": (
        "python -m tests.evidence.proof run --out {folder}/proof.jsonl --no-load --minutes 0"
    ),
    "python -m tests.evidence.proof table FILE.jsonl": (
        "python -m tests.evidence.proof table docs/proof/verdicts.jsonl"
    ),
    "python -m tests.evidence.proof.load": (
        "python -m tests.evidence.proof.load --processes 1 --seconds 0.1"
    ),
    "python -m tests.evidence.proof.memory run --out docs/proof/memory.jsonl": (
        "python -m tests.evidence.proof.memory run --out {folder}/memory.jsonl --minutes 0"
    ),
    "python -m tests.evidence.proof.memory table docs/proof/memory.jsonl": (
        "python -m tests.evidence.proof.memory table docs/proof/memory.jsonl"
    ),
    "python -m tests.evidence.proof table docs/proof/verdicts.jsonl": (
        "python -m tests.evidence.proof table docs/proof/verdicts.jsonl"
    ),
    "python -m tests.evidence.proof cross docs/proof/sessions.jsonl": (
        "python -m tests.evidence.proof cross docs/proof/sessions.jsonl"
    ),
    "python -m tests.evidence.why table": "python -m tests.evidence.why table",
    "python -m tests.evidence.why run": (
        "python -m tests.evidence.why run --out {folder}/why.jsonl --only none-of-them"
    ),
}
"""What takes minutes or hours, with how it ends soon; run in this repository."""

IN_CI = frozenset({"make setup", "make lint", "make test", "make test-extras", "make test-wheel"})
"""They run the tests themselves."""
