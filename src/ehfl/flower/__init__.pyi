"""The public names of the room."""

from .node.client_app import client_app as client_app
from .local.deployment import Deployment as Deployment
from .app.project import write_app as write_app
from .server.server_app import server_app as server_app
from .local.simulation import simulate as simulate
from .app.specs import for_flower as for_flower, one_run as one_run
from .local.up import run_up as run_up
