import unittest

import calc


class TestCalc(unittest.TestCase):
    def test_add(self):
        assert calc.add(2, 3) == 5

    def test_sub(self):
        assert calc.sub(3, 2) == 1
