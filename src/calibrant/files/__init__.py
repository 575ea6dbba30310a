"""Predictions from files of every common format, and recalibrated probabilities back into them."""

from calibrant.files.answer_logs import holds_records as holds_records
from calibrant.files.answers import Answers as Answers
from calibrant.files.answers import read_answers as read_answers
from calibrant.files.batches import parquet_rows as parquet_rows
from calibrant.files.columns import Columns as Columns
from calibrant.files.columns import UnknownColumn as UnknownColumn
from calibrant.files.columns import choose as choose
from calibrant.files.columns import worded as worded
from calibrant.files.forecasts import holds_quantiles as holds_quantiles
from calibrant.files.forecasts import read_forecasts as read_forecasts
from calibrant.files.forecasts import read_gaussian as read_gaussian
from calibrant.files.pickled import read_pickled_logits as read_pickled_logits
from calibrant.files.reading import read as read
from calibrant.files.reading import read_features as read_features
from calibrant.files.reading import read_predicted as read_predicted
from calibrant.files.reading import read_with_columns as read_with_columns
from calibrant.files.rereading import PredictionBatches as PredictionBatches
from calibrant.files.rereading import read_batches as read_batches
from calibrant.files.saving import write as write
from calibrant.files.saving import write_columns as write_columns
from calibrant.files.style import Style as Style
