"""Commands that must succeed, and a folder of files to run them on."""

import numpy as np
import pytest

from elmonet import AutoELMDeepONet, problems


@pytest.fixture
def ok(run):
    """Run a command that must succeed: what it printed."""

    def ok(*arguments):
        code, out, err = run(*" ".join(arguments).split())
        assert code == 0, err
        return out

    return ok


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """A folder of right and wrong files, that no test may change."""
    folder = tmp_path_factory.mktemp("desk")
    data = problems.antiderivative(n_train=20, n_test=5)
    arrays = data.to_arrays()
    u, s, points = data.u_train, data.s_train, data.points

    def save(name, **arrays):
        np.savez(folder / f"{name}.npz", **arrays)

    save("data", **arrays)
    AutoELMDeepONet(time_budget=0.1, random_state=0).fit(u, s, points).save(folder / "model.elmonet")
    x = points[:, 0]
    vector = {"p": s, "q": s * x}
    save("vector", u=u, **vector, points=points)
    fitted = AutoELMDeepONet(time_budget=0.1, random_state=0).fit(u, vector, points)
    fitted.save(folder / "vector.elmonet")
    save("two", a=u, b=u[:, :30], s=s, points=points)
    fitted = AutoELMDeepONet(time_budget=0.1, random_state=0).fit({"a": u, "b": u[:, :30]}, s, points)
    fitted.save(folder / "two.elmonet")
    rng = np.random.default_rng(0)
    index, places = np.repeat(np.arange(20), 12), rng.random((240, 1))
    values = np.array([np.interp(y, x, s[i]) for i, y in zip(index, places[:, 0], strict=True)])
    save("triples", u=u, s=values, points=places, index=index)
    fitted = AutoELMDeepONet(time_budget=0.1, random_state=0).fit(u, _scattered(index, places, values))
    fitted.save(folder / "scattered.elmonet")

    save("inputs", u=u)
    save("outputs", s=s, points=points)
    save("alike", one=u, other=u + 1)
    save("short", u=u[:, ::2])
    save("rows", u=u, s=s[:-3], points=points)
    save("points_missing", u=u, s=s[:, ::3])
    save("ragged", u=np.array([row[: 50 + i] for i, row in enumerate(u)], dtype=object), s=s, points=points)
    save("strange", first=u, second=s)
    save("words", u=np.array(["a", "b"]), s=np.array(["c", "d"]))
    save("complex", u=u + 1j, s=s, points=points)
    save("columns", u=u.T, s=s[:, ::3].T, points=points[::3])
    for name, rows in (("gaps", (u, _holed(s))), ("holes", (_holed(u), s))):
        save(name, u=rows[0], s=rows[1], points=points)
    save("none")
    save("scalars", u=3.0, s=2.0)
    save("no_rows", u=u[:0], s=s[:0], points=points)
    save("infinite", u=u, s=np.where(np.arange(100) == 3, np.inf, s), points=points)
    save("groups", u=u, s=s, points=points, g=np.arange(20) // 4, few=np.arange(3), names=np.full(20, "a"))
    save("-dash", u=u)
    np.savetxt(folder / "line.csv", np.linspace(0, 1, 100))
    (folder / "head.csv").write_text("u0,u1,s0\n")
    (folder / "blank.csv").write_text("\n\n")
    np.save(folder / "plane.npy", np.zeros((7, 2)))
    np.save(folder / "line.npy", np.linspace(0, 1, 7))
    (folder / "empty.npz").touch()
    (folder / "empty.elmonet").touch()
    whole = (folder / "data.npz").read_bytes()
    (folder / "half.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "half.elmonet").write_bytes((folder / "model.elmonet").read_bytes()[:-1000])
    (folder / "poem.md").write_text("Roses are red,\nviolets are blue.\n")
    (folder / "table.csv").write_text("u0,u1,s\n1,2,3\n4,5\n")
    (folder / "thing.pkl").write_bytes(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07builtins.")
    table = "t,u0,u1,s0,s1\n" + "".join(f"2026-01-0{i + 1},{i},{i * i % 5},{i % 3},{i}\n" for i in range(9))
    (folder / "dates.csv").write_text(table)
    (folder / "latin.csv").write_bytes(table.replace("u0", "\u00fc0").encode("latin-1"))
    (folder / "units.csv").write_text("u0,u1,s\nm,m,Pa\n1,2,3\n")
    (folder / "gone.npz").symlink_to("nowhere.npz")
    (folder / "holed").mkdir()
    (folder / "holed" / "u.npy").touch()
    save("alone", u=u[0])
    save("never", u=u, s=np.full_like(s, np.nan), points=points)
    save("dates", u=u, s=s, points=points[:, 0].astype("datetime64[s]"))
    (folder / "folder").mkdir()
    (folder / "folder.npz").mkdir()
    (folder / "folder" / "keep.txt").write_text("dear\n")
    return folder


def _holed(rows):
    rows = rows.copy()
    rows[3, 4] = rows[7, 5] = np.nan
    return rows


def _scattered(*arrays):
    from elmonet import Scattered

    return Scattered(*arrays)
