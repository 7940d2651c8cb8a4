"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, RecordingFormat, SuiteFormat

PROMPTFOO_KEYS = ("prompts", "tests", "providers", "targets", "defaultTest", "scenarios", "redteam")
# Without their first letters: keys are in snake or in camel case.
DEEPEVAL_KEYS = ("utput", "ontext", "ools", "cenario", "ource_file", "ourceFile")
SKILL_KEYS = ("evals", "expect", "assertions", "should_", "skill")
PROMPTFOO_RESULTS = (("testIdx", "promptIdx", "prompt"), ("results.results",), ("[*",))
AGENTDOJO_RUNS = (("suite_name", "user_task_id"), ("metadata.suite_name",), ("metadata.benchmark",), ("benchmark",))
ADK_KEYS = ("eval_cases", "evalCases", "query", "data")

FEATURE = Feature(
    name="importers",
    summary="suites and results of other tools",
    formats=(
        SuiteFormat("bfcl", "carob.features.importers.bfcl.suite:Bfcl", ('"question"', '"ground_truth"')),
        SuiteFormat("tau-bench", "carob.features.importers.tau.tau_bench:TauBench", ("instruction", "traj")),
        SuiteFormat("tau2", "carob.features.importers.tau.tau2:Tau2", ("user_scenario",)),
        SuiteFormat("agentevals", "carob.features.importers.agentevals:AgentEvals", ("outputs",)),
        SuiteFormat("deepeval", "carob.features.importers.deepeval:DeepEval", DEEPEVAL_KEYS),
        SuiteFormat("pydantic-evals", "carob.features.importers.pydantic_evals:PydanticEvals", ("inputs",)),
        SuiteFormat("coder-eval", "carob.features.importers.coder_eval:CoderEval", ("success_criteria",)),
        SuiteFormat("skill-evals", "carob.features.importers.skill_evals:SkillEvals", SKILL_KEYS),
        SuiteFormat("promptfoo", "carob.features.importers.promptfoo.suite:Promptfoo", PROMPTFOO_KEYS, late=True),
        SuiteFormat("adk", "carob.features.importers.adk:AdkEvalSet", ADK_KEYS, late=True),
    ),
    recordings=(
        RecordingFormat("bfcl", "carob.features.importers.bfcl.results:RESULTS", (("id", "result"),)),
        RecordingFormat("tau-bench", "carob.features.importers.tau.results:TAU_BENCH", (("task_id", "traj"),)),
        RecordingFormat("tau2", "carob.features.importers.tau.results:TAU2", (("tasks", "simulations"),)),
        RecordingFormat("promptfoo", "carob.features.importers.promptfoo.results:RESULTS", PROMPTFOO_RESULTS),
        RecordingFormat("adk", "carob.features.importers.adk:RESULTS", (("eval_case_results",), ("evalCaseResults",))),
        RecordingFormat("agentdojo", "carob.features.importers.agentdojo:RUNS", AGENTDOJO_RUNS),
    ),
)
