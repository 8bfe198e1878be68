from .dataset import OperatorData as OperatorData
from .formats import register_reader as register_reader
from .mesh import Mesh as Mesh
from .reading import read as read
from .scattered import Scattered as Scattered
from .scattered import resample as resample
