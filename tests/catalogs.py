"""The checks that Carob has without any project."""

from __future__ import annotations

from carob.checks.catalog import CheckCatalog
from carob.plugins.project import Project

CATALOG = CheckCatalog(Project())
