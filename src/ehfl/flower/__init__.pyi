"""The public names of the room."""

from .client import client_app as client_app
from .deployment import Deployment as Deployment
from .installed import check_installed as check_installed, check_simulation as check_simulation
from .project import write_app as write_app
from .server import server_app as server_app
from .simulation import simulate as simulate
from .specs import for_flower as for_flower, one_run as one_run
from .up import run_up as run_up
