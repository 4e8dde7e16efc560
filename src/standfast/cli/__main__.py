"""
`python -m standfast.cli`: the same as `standfast`.
"""

from standfast.cli.main import main

main()
