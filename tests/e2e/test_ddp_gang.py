"""Real gloo DDP whose ranks start over together when one is killed: gang restart, with its own file for its seconds."""
from test_ddp_faults import goes_on_from_its_checkpoint, kubectl_one, needs_torch  # noqa: F401  (fixtures)


def test_a_gang_goes_on_from_its_checkpoint(yard, kubectl_one):  # noqa: F811
    goes_on_from_its_checkpoint(yard, kubectl_one, "ExitCode", "ExitCode", gang=True, restarts=1)
