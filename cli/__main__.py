"""``python -m topicmc.cli``: what mpiexec starts on each rank."""

from topicmc.cli import main

main()
