"""A page on this computer alone: a file is dropped, diagnosed, and repairs of it are compared."""

from calibrant.serve.answers import Answers as Answers
from calibrant.serve.server import Server as Server
from calibrant.serve.uploads import Uploads as Uploads
from calibrant.serve.workers import Workers as Workers
