"""The door: what users pass, checked once and put in a standard form.

Below this package nothing is checked again. Nothing is clipped, dropped or renormalised unless the user asks for it.
"""

from calibrant.inputs.labels import check_distinct as check_distinct
from calibrant.inputs.labels import check_lengths as check_lengths
from calibrant.inputs.labels import check_swapped as check_swapped
from calibrant.inputs.labels import class_order as class_order
from calibrant.inputs.labels import codes as codes
from calibrant.inputs.labels import in_column_order as in_column_order
from calibrant.inputs.labels import shares as shares
from calibrant.inputs.numbers import ROW_SUM_TOLERANCE as ROW_SUM_TOLERANCE
from calibrant.inputs.numbers import FloatArray as FloatArray
from calibrant.inputs.numbers import check_all_positive as check_all_positive
from calibrant.inputs.numbers import check_column as check_column
from calibrant.inputs.numbers import check_finite as check_finite
from calibrant.inputs.numbers import check_groups as check_groups
from calibrant.inputs.numbers import check_matrix as check_matrix
from calibrant.inputs.numbers import check_probabilities as check_probabilities
from calibrant.inputs.numbers import check_row_sums as check_row_sums
from calibrant.inputs.numbers import check_weights as check_weights
from calibrant.inputs.numbers import floats as floats
from calibrant.inputs.options import check_bandwidth as check_bandwidth
from calibrant.inputs.options import check_choice as check_choice
from calibrant.inputs.options import check_count as check_count
from calibrant.inputs.options import check_level as check_level
from calibrant.inputs.options import check_positive as check_positive
from calibrant.inputs.options import listed as listed
