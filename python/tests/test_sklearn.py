"""Tests `python -m gradus.sklearn` and gradus.sklearn.patch(). The scripts are written for scikit-learn alone, and
they run as `python` would run them."""

import copy
import os
import pickle
import re
import subprocess
import sys
import textwrap

import gradus
import gradus.sklearn
import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn.base
import sklearn.cluster
import sklearn.exceptions
import sklearn.mixture
import sklearn.model_selection
import sklearn.pipeline
import sklearn.preprocessing
from sklearn.cluster import KMeans, kmeans_plusplus

X = np.random.default_rng(0).normal(size=(300, 3)) + np.repeat(np.eye(3) * 20, 100, axis=0)


@pytest.fixture
def report():
    with gradus.sklearn.patch() as report:
        yield report
    assert not vars(sklearn.cluster.KMeans).get("predict") and sklearn.cluster.KMeans.fit.__module__.startswith("sklearn")


def names(report):
    return [(call.name, bool(call.reason)) for call in report.calls]


# --- the patch ----------------------------------------------------------------------------------------------------------


def test_a_fit_has_the_bits_of_gradus(report):
    model = KMeans(3, random_state=5).fit(X)
    expected = gradus.KMeans(3, random_state=5).fit(X)
    assert type(model) is sklearn.cluster.KMeans and type(model.labels_) is np.ndarray
    assert model.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
    assert (model.labels_ == expected.labels_).all() and model.inertia_ == expected.inertia_
    assert (model.n_iter_, model.n_features_in_) == (expected.n_iter_, 3)
    assert (model.predict(X) == model.labels_).all()
    assert model.transform(X).tobytes() == expected.transform(X).tobytes() == model.fit_transform(X).tobytes()
    assert model.score(X) == expected.score(X)
    assert names(report) == [("KMeans.fit", False), ("KMeans.predict", False), ("KMeans.transform", False), ("KMeans.fit", False),
                             ("KMeans.transform", False), ("KMeans.score", False)]  # fmt: skip
    call = report.calls[0]
    assert (call.rows, call.columns) == (300, 3) and call.variant in {row.name for row in gradus.variants("kmeans")}
    assert call.device and 0 < call.seconds < 60
    assert call.device in str(report) and call.variant in str(report) and "300 x 3" in str(report)


def test_from_one_start_as_scikit_learn():
    start = X[[3, 150, 250]]
    theirs = KMeans(3, init=start).fit(X)
    with gradus.sklearn.patch():
        ours = KMeans(3, init=start).fit(X)
    assert vars(theirs).keys() - {"_tol"} == vars(ours).keys()
    assert (theirs.labels_ == ours.labels_).all() and theirs.n_iter_ == ours.n_iter_
    np.testing.assert_allclose(theirs.cluster_centers_, ours.cluster_centers_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("call, reason", [
    (lambda: KMeans(3).fit(scipy.sparse.csr_array(X)), "X is sparse"),
    (lambda: KMeans(3, init=lambda x, k, random_state: x[:k]).fit(X), "init is a callable"),
    (lambda: sklearn.cluster.MiniBatchKMeans(3).fit(X), "MiniBatchKMeans"),
    (lambda: sklearn.cluster.MiniBatchKMeans(3).partial_fit(X), "MiniBatchKMeans"),
    (lambda: kmeans_plusplus_now()(X, 3, n_local_trials=9), "n_local_trials"),
    (lambda: KMeans(2).fit(np.array([[2**53 + 1], [1], [2]])), "9007199254740993"),
    (lambda: OwnStart(3, init="random").fit(X), r"OwnStart overrides _init_centroids\(\)"),
])  # fmt: skip
def test_what_gradus_lacks_is_left_to_scikit_learn(report, call, reason):
    call()
    (entry,) = report.calls
    assert re.search(reason, entry.reason) and not entry.device and not entry.variant
    assert "scikit-learn: " + entry.reason in str(report) and "computed 0 of 1 calls" in str(report)


class OwnStart(KMeans):
    def _init_centroids(self, *arguments, **named):
        return super()._init_centroids(*arguments, **named)


class Renamed(KMeans):
    def fit(self, X, y=None, sample_weight=None):
        self.seen_ = len(X)
        return super().fit(X, y, sample_weight)


def kmeans_plusplus_now():
    return sklearn.cluster.kmeans_plusplus


def test_functions_and_everything_built_on_them(report):
    sklearn.cluster.k_means(X, 3)
    centers, rows = sklearn.cluster.kmeans_plusplus(X, 3, random_state=1)
    assert (X[rows] == centers).all() and (centers == gradus.kmeans_plusplus(X, 3, random_state=1)[0]).all()
    assert kmeans_plusplus is sklearn.cluster.kmeans_plusplus is sklearn.mixture._base.kmeans_plusplus
    sklearn.mixture.GaussianMixture(3, random_state=0).fit(X)
    sklearn.preprocessing.KBinsDiscretizer(3, strategy="kmeans").fit(X)
    Renamed(3).fit(X)
    assert all(not called.reason for called in report.calls)
    assert [call.name for call in report.calls] == ["KMeans.fit", "kmeans_plusplus"] + ["KMeans.fit"] * 5


@pytest.mark.parametrize("call", [
    lambda: KMeans(400).fit(X),
    lambda: KMeans(0).fit(X),
    lambda: KMeans(3, tol=-1).fit(X),
    lambda: KMeans(3).fit(np.full((5, 2), np.nan)),
    lambda: KMeans(3).fit("text"),
    lambda: KMeans(3).fit(X, sample_weight=np.ones(2)),
    lambda: KMeans(3).predict(X),
    lambda: KMeans(3).score(X),
    lambda: KMeans(3).transform(X),
    lambda: KMeans(3).fit(X).predict(X[:, :2]),
    lambda: kmeans_plusplus_now()(X, 0),
    lambda: sklearn.cluster.k_means(X, 301),
])  # fmt: skip
def test_errors_are_those_of_scikit_learn(call):
    with pytest.raises(Exception) as theirs:
        call()
    with gradus.sklearn.patch(), pytest.raises(type(theirs.value)) as ours:
        call()
    assert str(ours.value) == str(theirs.value) and type(ours.value) is type(theirs.value)


def test_estimators_stay_what_they_are(report):
    model = KMeans(3, random_state=0)
    assert isinstance(model, sklearn.cluster.KMeans) and sklearn.base.is_clusterer(model)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    assert set(model.get_params()) == {"n_clusters", "init", "n_init", "max_iter", "tol", "verbose", "random_state", "copy_x",
                                       "algorithm"}  # fmt: skip
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model.set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["kmeans0", "kmeans1", "kmeans2"]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    assert (copy.deepcopy(model).predict(X) == model.labels_).all()
    pipeline = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), KMeans(random_state=0))
    search = sklearn.model_selection.GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 3]}, cv=3).fit(X)
    assert isinstance(search.best_estimator_[-1], KMeans) and len(pickle.loads(pickle.dumps(search)).predict(X)) == 300
    assert all(not called.reason for called in report.calls)


def test_unpickled_without_gradus(tmp_path):
    with gradus.sklearn.patch():
        model = KMeans(3, random_state=0).fit(X)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "x.npy", X)
    code = ("import sys; sys.modules['gradus'] = None\nimport pickle, numpy\n"
            "model = pickle.load(open('model.pickle', 'rb')); x = numpy.load('x.npy')\n"
            "assert (model.predict(x) == model.labels_).all() and model.transform(x).shape == (300, 3)\n"
            "assert abs(model.score(x) + model.inertia_) < 1e-9 * model.inertia_; model.fit(x)")  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=120)


def test_nested_patches():
    with gradus.sklearn.patch() as outer:
        with gradus.sklearn.patch() as inner:
            KMeans(2).fit(X)
        KMeans(2).fit(X)
        assert len(inner.calls) == 2 == len(outer.calls)
    KMeans(2).fit(X)
    assert len(outer.calls) == 2
    gradus.sklearn.unpatch()
    kept = gradus.sklearn._kmeans_plusplus  # this name was imported while the patch was in force
    assert len(kept(X, 3)) == 2 and len(outer.calls) == 2


def test_strange_modules(monkeypatch):
    class NoModule:
        __slots__ = ()

    monkeypatch.setitem(sys.modules, "no_module_at_all", NoModule())
    monkeypatch.setitem(sys.modules, "nothing_at_all", None)
    with gradus.sklearn.patch() as report:
        KMeans(2).fit(X)
    assert len(report.calls) == 1 and "predict" not in vars(sklearn.cluster.KMeans)


# --- python -m gradus.sklearn -------------------------------------------------------------------------------------------


def run(*arguments, script=None, folder=None, python=("-m", "gradus.sklearn"), **options):
    if script is not None:
        (folder / "script.py").write_text(textwrap.dedent(script))
        arguments = ["script.py", *arguments]
    return subprocess.run([sys.executable, *python, *arguments], capture_output=True, text=True, timeout=300, cwd=folder, **options)


SCRIPTS = {
    "digits": ("""
        import numpy as np
        from sklearn.cluster import KMeans
        from sklearn.datasets import load_digits
        from sklearn.metrics import adjusted_rand_score
        from sklearn.preprocessing import StandardScaler

        data, target = load_digits(return_X_y=True)
        kmeans = KMeans(n_clusters=10, n_init=4, random_state=0).fit(StandardScaler().fit_transform(data))
        print(adjusted_rand_score(target, kmeans.labels_) > 0.3)
        """, "True", [r"KMeans\.fit +1797 x 64 +1 .*Gradus: "]),
    "elbow": ("""
        import sklearn.cluster as skc
        from sklearn.datasets import make_blobs

        X, _ = make_blobs(n_samples=500, centers=4, random_state=1)
        inertias = []
        for k in range(1, 8):
            km = skc.KMeans(n_clusters=k, random_state=42)
            km.fit(X)
            inertias.append(km.inertia_)
        print(inertias == sorted(inertias, reverse=True))
        """, "True", [r"KMeans\.fit +500 x 2 +7 .*Gradus: "]),
    "colours": ("""
        import numpy as np
        from sklearn.cluster import KMeans
        from sklearn.utils import shuffle

        image = np.random.default_rng(0).random((40, 50, 3))
        pixels = image.reshape(-1, 3)
        sample = shuffle(pixels, random_state=0, n_samples=1000)
        kmeans = KMeans(n_clusters=16, random_state=0).fit(sample)
        labels = kmeans.predict(pixels)
        print(kmeans.cluster_centers_[labels].reshape(image.shape).shape)
        """, "(40, 50, 3)", [r"KMeans\.fit +1000 x 3", r"KMeans\.predict +2000 x 3"]),
    "texts": ("""
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        texts = ["apples and pears", "pears", "trains and planes", "planes", "apples"] * 4
        for estimator in (KMeans(2, random_state=0), MiniBatchKMeans(2, random_state=0)):
            print(len(set(make_pipeline(TfidfVectorizer(), estimator).fit_predict(texts))))
        """, "2\n2", [r"KMeans\.fit +20 x 5 .*scikit-learn: X is sparse", r"MiniBatchKMeans\.fit .*scikit-learn: MiniBatchKMeans is not replaced"]),
    "workers": ("""
        import numpy as np
        from sklearn.cluster import KMeans
        from sklearn.model_selection import GridSearchCV

        if __name__ == "__main__":
            X = np.random.default_rng(0).random((90, 2))
            search = GridSearchCV(KMeans(random_state=0), {"n_clusters": [2, 3]}, cv=3, n_jobs=2).fit(X)
            print(search.best_params_)
        """, "{'n_clusters': 3}", [r"KMeans\.fit +60 x 2 +6 .*Gradus: ", r"KMeans\.score +30 x 2 +6 .*Gradus: "]),
    "frames": ("""
        import pandas as pd
        from sklearn.cluster import KMeans

        df = pd.DataFrame({"income": [15, 16, 90, 95, 50, 52], "score": [39, 81, 6, 77, 40, 42]})
        df["cluster"] = KMeans(n_clusters=3, n_init="auto", random_state=0).fit_predict(df[["income", "score"]])
        print(df.groupby("cluster").size().sum())
        """, "6", [r"KMeans\.fit +6 x 2 .*Gradus: "]),
    "without": ("print('no k-means')", "no k-means", ["no call of KMeans"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_users(name, tmp_path):
    script, printed, reported = SCRIPTS[name]
    done = run(script=script, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed
    for line in reported:
        assert re.search(line, done.stderr), done.stderr
    assert "Gradus" not in run("--quiet", "script.py", folder=tmp_path).stderr


SHOWS_ITSELF = """
    import sys
    import __main__
    print(__name__, sys.argv, sys.path[0], __main__.__dict__ is globals(), __doc__, "__file__" in globals())
    print(__file__ if "__file__" in globals() else None, type(__loader__), list(globals()))
    class Own: pass
    import pickle
    print(type(pickle.loads(pickle.dumps(Own()))) is Own)
"""
ENDS = {
    "status": "raise SystemExit(7)",
    "message": "import sys; sys.exit('it failed')",
    "error": "def inner():\n    1 / 0\n\ninner()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('x') from error",
    "syntax": "print('x'",
    "missing": "import no_such_module_at_all",
    "interrupt": "raise KeyboardInterrupt",
    "hook": "import sys\nsys.excepthook = lambda *_: print('hooked')\n1 / 0",
    "help": "import argparse\nargparse.ArgumentParser(prog='mine').parse_args()",
    "atexit": "import atexit\natexit.register(print, 'the end')",
    "thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()\nraise KeyboardInterrupt",
    "failing hook": "import sys\ndef hook(*_):\n    raise ValueError('hook')\nsys.excepthook = hook\n1 / 0",
    "exiting hook": "import sys\nsys.excepthook = lambda *_: sys.exit(9)\n1 / 0",
    "no hook": "import sys\ndel sys.excepthook\n1 / 0",
    "last error": "import atexit, sys\natexit.register(lambda: print(repr(sys.last_value), sys.last_traceback.tb_frame.f_code.co_filename))\n1 / 0",
}  # fmt: skip


def as_python_runs_it(folder, *arguments):
    usual = run(*arguments, folder=folder, python=())
    ours = run("--quiet", *arguments, folder=folder)
    assert (ours.returncode, ours.stdout) == (usual.returncode, usual.stdout)
    return usual, ours


@pytest.mark.parametrize("way", ["script", "./script", "folder/../script", "folder/script", "module", "package", "folder", "code"])
def test_the_surroundings_of_a_script(way, tmp_path):
    text = textwrap.dedent(SHOWS_ITSELF)
    (tmp_path / "folder").mkdir()
    for path in ("script.py", "folder/script.py", "folder/__main__.py"):
        (tmp_path / path).write_text(text)
    arguments = {"script": ["script.py"], "./script": ["./script.py"],
                 "folder/../script": ["folder/../script.py"], "folder/script": ["folder/script.py"], "module": ["-m", "script"],
                 "package": ["-m", "folder"], "folder": ["folder"], "code": ["-c", text]}[way]  # fmt: skip
    as_python_runs_it(tmp_path, *arguments, "first", "--help", "-x")


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_script(name, tmp_path):
    (tmp_path / "script.py").write_text(ENDS[name])
    for arguments in (["script.py"], ["-m", "script"]):
        usual, ours = as_python_runs_it(tmp_path, *arguments, "--help")
        assert ours.stderr == usual.stderr


def test_a_refused_call_leaves_no_trace(tmp_path):
    """If Gradus refuses a call, scikit-learn computes it as if Gradus had not tried: the generator draws the same
    numbers, and each warning appears once."""
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import warnings
        import numpy as np
        from sklearn.cluster import KMeans, kmeans_plusplus

        X, generator, weights = np.arange(40.0).reshape(20, 2), np.random.RandomState(1), np.array([-0.5] + [1.0] * 19)
        np.random.seed(2)
        for state in (generator, None):
            try:
                KMeans(3, random_state=state).fit(np.full((9, 2), np.nan))
            except ValueError:
                pass
            print(kmeans_plusplus(X, 2, random_state=state, n_local_trials=5), generator.randint(1000), np.random.randint(1000))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            KMeans(3, init=X[:3], n_init=2).fit(X, sample_weight=weights)
            print([str(warning.message) for warning in caught])
        """))
    as_python_runs_it(tmp_path, "script.py")


def test_warnings_have_the_modules_of_scikit_learn(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import warnings
        import numpy as np
        from sklearn.cluster import KMeans

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            KMeans(3, init=np.ones((3, 2)), n_init=2).fit(np.ones((9, 2)))
            KMeans(1, random_state=0, algorithm="elkan").fit(np.arange(18.0).reshape(9, 2))
            print([(str(warning.message), warning.category, warning.filename) for warning in caught])
        warnings.filterwarnings("ignore", module="sklearn")
        KMeans(3, random_state=0).fit(np.ones((9, 2)))
        """))
    usual, ours = as_python_runs_it(tmp_path, "script.py")
    assert ours.stderr == usual.stderr == ""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(method, tmp_path):
    done = run(script=f"""
        import multiprocessing
        import numpy as np
        from sklearn.cluster import KMeans

        def fitted(seed):
            return KMeans(2, random_state=seed).fit(np.arange(20.0).reshape(10, 2)).n_iter_ > 0

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(pool.map(fitted, range(4)))
        """, folder=tmp_path)  # fmt: skip
    assert done.returncode == 0 and done.stdout == "[True, True, True, True]\n", done.stderr
    assert re.search(r"KMeans\.fit +10 x 2 +4 .*Gradus: ", done.stderr), done.stderr


def test_what_cannot_be_run(tmp_path):
    for arguments in (["nowhere.py"], ["-m", "no_such_module_at_all"]):
        usual, ours = as_python_runs_it(tmp_path, *arguments)
        assert ours.stderr == usual.stderr
    for arguments, text in (([], "no script"), (["-m"], "no script"), (["--fast", "x.py"], "--fast"), (["--device"], "needs a value")):
        done = run(*arguments, folder=tmp_path)
        assert done.returncode == 2 and text in done.stderr and "usage:" in done.stderr
    done = run("--help", folder=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m gradus.sklearn")


def test_the_device_of_a_run(tmp_path):
    script = "from sklearn.cluster import KMeans\nKMeans(2).fit([[1.0], [2.0], [5.0]])"
    done = run("--device", "cpu", "-c", script, folder=tmp_path)
    assert done.returncode == 0 and "computed 1 of 1 calls" in done.stderr
    done = run("--device=gpu:99", "-c", script, folder=tmp_path)
    assert done.returncode == 0 and "computed 0 of 1 calls" in done.stderr and "scikit-learn: " in done.stderr and "GPU" in done.stderr


def test_tests_of_scikit_learn():
    """scikit-learn's own tests pass under the patch. Two kinds of tests are excluded: tests that compare one random
    start of both libraries, and tests that depend on a tie between two points that are equally far from their
    centroids."""
    differs = ("test_dense_sparse or (test_nonuniform_strategies and kmeans)",)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "patched_scikit_learn", "-k",
               f"not ({' or '.join(differs)})", "--pyargs", "sklearn.cluster.tests.test_k_means",
               "sklearn.cluster.tests.test_spectral", "sklearn.preprocessing.tests.test_discretization"]  # fmt: skip
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": path, "SKLEARN_RUN_FLOAT32_TESTS": "1", "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "40-42"}
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 300, done.stdout[-1000:]
    ours = re.search(r"calls of Gradus: (\d+) of", done.stdout)
    assert ours and int(ours[1]) > 200, done.stdout[-1000:]
