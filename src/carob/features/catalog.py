"""The features of Carob, in the order of `carob --help`. Without its line here a feature does not exist."""

from carob.features.audit.feature import FEATURE as AUDIT
from carob.features.browser.feature import FEATURE as BROWSER
from carob.features.check.feature import FEATURE as CHECK
from carob.features.coding.feature import FEATURE as CODING
from carob.features.compare.feature import FEATURE as COMPARE
from carob.features.coverage.feature import FEATURE as COVERAGE
from carob.features.draft.feature import FEATURE as DRAFT
from carob.features.guard.feature import FEATURE as GUARD
from carob.features.importers.feature import FEATURE as IMPORTERS
from carob.features.judge.feature import FEATURE as JUDGE
from carob.features.langgraph.feature import FEATURE as LANGGRAPH
from carob.features.lint.feature import FEATURE as LINT
from carob.features.matrix.feature import FEATURE as MATRIX
from carob.features.mcp.feature import FEATURE as MCP
from carob.features.ray.feature import FEATURE as RAY
from carob.features.setup.feature import FEATURE as SETUP
from carob.features.stress.feature import FEATURE as STRESS
from carob.features.viewer.feature import FEATURE as VIEWER
from carob.features.watch.feature import FEATURE as WATCH

FEATURES = (
    SETUP,
    DRAFT,
    STRESS,
    COMPARE,
    MATRIX,
    VIEWER,
    CHECK,
    WATCH,
    GUARD,
    LINT,
    AUDIT,
    COVERAGE,
    MCP,
    JUDGE,
    IMPORTERS,
    LANGGRAPH,
    BROWSER,
    CODING,
    RAY,
)
