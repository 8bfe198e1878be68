"""Draw README's picture, which moves: more training functions, a better prediction, a narrower band.

python docs/front_picture.py      # docs/generate.py does it, too

Burgers' equation, from the velocity at the start to that at the end, for a function that no model saw.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

from elmonet import AutoELMDeepONet, ExtrapolationWarning, problems, relative_l2

OUT = Path(__file__).resolve().parent / "figures" / "learning.gif"
SIZES = (10, 20, 40, 80, 160, 320)
SHOWN = 3  # of the test functions
INPUT, TRUTH, OURS = "#0072B2", "#999999", "#D55E00"
HOLD = 4  # frames that the last one stays


def main():
    data = problems.burgers(n_train=max(SIZES), n_test=200)
    x = data.points[:, 0]
    frames = []
    for size in SIZES:
        model = AutoELMDeepONet(layers=0, random_state=0)
        model.fit(data.u_train[:size], data.s_train[:size], points=data.points)
        one = data.u_test[SHOWN : SHOWN + 1]
        low, high = model.interval(one, coverage=0.9, of="function")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)  # ten functions do not cover all others
            error = relative_l2(model.predict(data.u_test), data.s_test)
        frames.append((size, model.predict(one)[0], low[0], high[0], model.expected_error_, error))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.7), layout="constrained", sharex=True)
    truth = data.s_test[SHOWN]
    room = 0.6 * (truth.max() - truth.min())

    def draw(frame):
        size, predicted, low, high, expected, error = frames[min(frame, len(frames) - 1)]
        left.clear()
        right.clear()
        left.plot(x, data.u_test[SHOWN], color=INPUT, linewidth=2)
        left.set(title="a new input", xlabel="x")
        right.fill_between(x, low, high, color=OURS, alpha=0.25, linewidth=0, label="90 % band")
        right.plot(x, truth, color=TRUTH, linewidth=5, label="truth")
        right.plot(x, predicted, color=OURS, linewidth=1.8, label="prediction")
        right.set(title="its output", xlabel="x", ylim=(truth.min() - room, truth.max() + room))
        told = f"{size} training functions: error expected {expected:.1%}, on 200 new functions {error:.1%}"
        figure.suptitle(told, fontweight="bold")
        right.legend(loc="upper right", ncols=3, frameon=False, fontsize=9)
        for ax in (left, right):
            ax.spines[["top", "right"]].set_visible(False)

    moving = FuncAnimation(figure, draw, frames=len(frames) + HOLD)
    moving.save(OUT, writer=PillowWriter(fps=1), dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    main()
