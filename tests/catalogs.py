"""The checks that Karat has without any project."""

from __future__ import annotations

from karat.checks.catalog import CheckCatalog
from karat.plugins.project import Project

CATALOG = CheckCatalog(Project())
