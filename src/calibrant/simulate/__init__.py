"""Simulated predictions whose true calibration error is known, and what estimators and maps make of them."""

from calibrant.simulate.bias import Bias, bias, bias_table
from calibrant.simulate.bias_grid import BiasGrid, bias_grid
from calibrant.simulate.bias_test import BiasTest, bias_test
from calibrant.simulate.checking import WorldCheck, check_world, world_test
from calibrant.simulate.curves import Calibrated, LinearCurve, MapCurve, PowerCurve, ScaledCurve, TrueCurve
from calibrant.simulate.families import NAMED_WORLDS, REAL_SIZES, bent_world, calibrated_world, named_world, power_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.map_divergence import MapDivergence, map_divergence
from calibrant.simulate.map_quality import MapQuality, map_quality, map_quality_table, rank_correlation
from calibrant.simulate.numbers import FriedmanWorld, GaussianWorld, NumberWorld
from calibrant.simulate.power import Detection, detection, detection_table
from calibrant.simulate.scores import BetaScores, EmpiricalScores, Scores, UniformScores
from calibrant.simulate.several import ClassWorld, DirichletWorld, HiddenErrorWorld, LogisticNormalWorld
from calibrant.simulate.shapes import ShapeWorld
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, EventWorld, UniformWorld, World, WorldFit

__all__ = [
    "NAMED_WORLDS",
    "REAL_SIZES",
    "BetaScores",
    "BetaWorld",
    "Bias",
    "BiasGrid",
    "BiasTest",
    "Calibrated",
    "ClassWorld",
    "Detection",
    "DirichletWorld",
    "EmpiricalScores",
    "EmpiricalWorld",
    "EventWorld",
    "FriedmanWorld",
    "GaussianWorld",
    "HiddenErrorWorld",
    "LinearCurve",
    "LogisticNormalWorld",
    "MapCurve",
    "MapDivergence",
    "MapQuality",
    "NumberWorld",
    "PowerCurve",
    "ScaledCurve",
    "Scores",
    "ShapeWorld",
    "TrueCurve",
    "UniformScores",
    "UniformWorld",
    "World",
    "WorldCheck",
    "WorldFit",
    "bent_world",
    "bias",
    "bias_grid",
    "bias_table",
    "bias_test",
    "calibrated_world",
    "check_world",
    "detection",
    "detection_table",
    "fit_world",
    "map_divergence",
    "map_quality",
    "map_quality_table",
    "named_world",
    "power_world",
    "rank_correlation",
    "world_test",
]
