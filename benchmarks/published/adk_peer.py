"""Judges turns with ADK itself: a job per line of stdin, a status per line of stdout; it runs where ADK is."""

import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from google.adk.evaluation.eval_case import Invocation  # noqa: E402 - after its warnings are off
from google.adk.evaluation.eval_metrics import (  # noqa: E402
    BaseCriterion,
    EvalMetric,
    ToolTrajectoryCriterion,
)
from google.adk.evaluation.final_response_match_v1 import RougeEvaluator  # noqa: E402
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator  # noqa: E402


def judge(job):
    name, criterion = job["metric"], job["criterion"]
    given = {"threshold": criterion} if not isinstance(criterion, dict) else criterion
    if name == "tool_trajectory_avg_score":
        metric = EvalMetric(metric_name=name, threshold=given["threshold"], criterion=ToolTrajectoryCriterion(**given))
        evaluator = TrajectoryEvaluator(eval_metric=metric)
    else:
        metric = EvalMetric(metric_name=name, threshold=given["threshold"], criterion=BaseCriterion(**given))
        evaluator = RougeEvaluator(metric)
    actual, expected = ([Invocation.model_validate(one) for one in job[key]] for key in ("actual", "expected"))
    result = evaluator.evaluate_invocations(actual, expected)
    return {"status": result.overall_eval_status.name, "score": result.overall_score}


for line in sys.stdin:
    try:
        answer = judge(json.loads(line))
    except Exception as error:  # noqa: BLE001 - whatever ADK raises is its answer
        answer = {"status": f"error: {type(error).__name__}: {error}"[:200]}
    print("VERDICT " + json.dumps(answer), flush=True)
