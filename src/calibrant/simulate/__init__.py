"""Made-up predictions and made-up repairs: where the truth is known, and where an error can be fooled."""

from calibrant.simulate.bias import Bias, bias, bias_table, biases
from calibrant.simulate.check import WorldCheck, check_world
from calibrant.simulate.curves import Calibrated, LinearCurve, MapCurve, PowerCurve, ScaledCurve, TrueCurve
from calibrant.simulate.families import bent_world, calibrated_world, power_world
from calibrant.simulate.fitting import fit_world
from calibrant.simulate.fooling import LabelFrequencies, LabelFrequenciesMap, TopAccuracy, TopAccuracyMap
from calibrant.simulate.grid import BiasGrid, bias_grid
from calibrant.simulate.map_quality import MapQuality, map_quality, map_quality_table, rank_correlation
from calibrant.simulate.named import NAMED_WORLDS, REAL_SIZES, named_world
from calibrant.simulate.numbers import FriedmanWorld, GaussianWorld, NumberWorld
from calibrant.simulate.power import Detection, detection, detection_table, detections
from calibrant.simulate.scores import BetaScores, EmpiricalScores, Scores, UniformScores
from calibrant.simulate.several import ClassWorld, DirichletWorld, LogisticNormalWorld
from calibrant.simulate.shapes import ShapeWorld
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, EventWorld, UniformWorld, World, WorldFit

__all__ = [
    "NAMED_WORLDS",
    "REAL_SIZES",
    "BetaScores",
    "BetaWorld",
    "Bias",
    "BiasGrid",
    "Calibrated",
    "ClassWorld",
    "Detection",
    "DirichletWorld",
    "EmpiricalScores",
    "EmpiricalWorld",
    "EventWorld",
    "FriedmanWorld",
    "GaussianWorld",
    "LabelFrequencies",
    "LabelFrequenciesMap",
    "LinearCurve",
    "LogisticNormalWorld",
    "MapCurve",
    "MapQuality",
    "NumberWorld",
    "PowerCurve",
    "ScaledCurve",
    "Scores",
    "ShapeWorld",
    "TopAccuracy",
    "TopAccuracyMap",
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
    "biases",
    "calibrated_world",
    "check_world",
    "detection",
    "detection_table",
    "detections",
    "fit_world",
    "map_quality",
    "map_quality_table",
    "named_world",
    "power_world",
    "rank_correlation",
]
