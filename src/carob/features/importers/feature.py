"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, SuiteFormat

PROMPTFOO_KEYS = ("prompts", "tests", "providers", "targets", "defaultTest", "scenarios", "redteam")
# Without their first letters: keys are in snake or in camel case.
DEEPEVAL_KEYS = ("utput", "ontext", "ools", "cenario", "ource_file", "ourceFile")
SKILL_KEYS = ("evals", "expect", "assertions", "should_trigger")
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
        "carob.features.importers.bfcl.results:BfclResults",
        "carob.features.importers.tau.results:TauBenchTrajectories",
        "carob.features.importers.tau.results:Tau2Results",
        "carob.features.importers.promptfoo.results:PromptfooResults",
        "carob.features.importers.adk:AdkResults",
        "carob.features.importers.agentdojo:AgentDojoRuns",
    ),
)
