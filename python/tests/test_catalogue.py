"""Reads FITS and HDF5 catalogues that astropy and h5py write."""

import gradus
import numpy as np
import pytest

COLUMNS = {"RA": np.linspace(0, 1, 50), "DEC": np.linspace(2, 3, 50).astype("f4"), "n": np.arange(50, dtype="i2")}
STACKED = np.stack([COLUMNS["RA"], COLUMNS["DEC"].astype(float), COLUMNS["n"].astype(float)], axis=1)


def test_fits(tmp_path):
    fits = pytest.importorskip("astropy.io.fits", reason="astropy is not installed (pip install astropy)")
    units = [fits.Column(name=name, array=values, format=kind) for (name, values), kind in zip(COLUMNS.items(), "DEI")]
    units.append(fits.Column(name="names", array=["a"] * 50, format="1A"))
    units.append(fits.Column(name="xyz", array=np.arange(150.0).reshape(50, 3), format="3D"))
    path = tmp_path / "c.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(units, name="GALAXIES")]).writeto(path)
    for table in (1, "GALAXIES"):
        found = gradus.read_catalogue(path, ["ra", "DEC", "n"], table=table)
        assert found.dtype == np.float64 and found.dtype.isnative and found.tolist() == STACKED.tolist()
    assert gradus.read_catalogue(path, ["DEC"]).dtype == np.float32
    xyz = gradus.read_catalogue(str(path), ["xyz"])
    assert xyz.shape == (50, 3) and gradus.pair_histogram(xyz, bin_width=10, bins=3).pairs == 50 * 49 // 2
    for arguments, words in ((["q"], "no column 'q'.*RA, DEC"), (["names"], "'names' has the type"), (None, "'names' has the type")):
        with pytest.raises(gradus.InputError, match=words):
            gradus.read_catalogue(path, arguments)
    with pytest.raises(gradus.InputError, match="no HDU 7.*GALAXIES"):
        gradus.read_catalogue(path, table=7)
    with pytest.raises(gradus.InputError, match="no table"):
        gradus.read_catalogue(path, table=0)


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed (pip install h5py)")
    path = tmp_path / "c.h5"
    with h5py.File(path, "w") as file:
        for name, values in COLUMNS.items():
            file[f"galaxies/{name}"] = values
        file["galaxies/short"] = np.arange(3.0)
        file["points"] = STACKED
        rows = np.zeros(50, [("x", ">f8"), ("y", "<f8")])
        rows["x"] = COLUMNS["RA"]
        file["rows"] = rows
    assert gradus.read_catalogue(path, list(COLUMNS), table="galaxies").tolist() == STACKED.tolist()
    assert gradus.read_catalogue(path, table="points").tolist() == STACKED.tolist()
    found = gradus.read_catalogue(path, ["y", "x"], table="rows")
    assert found[:, 1].tolist() == COLUMNS["RA"].tolist() and found.dtype.isnative
    for arguments, words in (({"table": "stars"}, "no 'stars'.*galaxies"), ({"table": "galaxies", "columns": ["RA", "q"]}, "no 'q'"),
                             ({"table": "galaxies", "columns": ["RA", "short"]}, "3 rows.*has 50")):
        with pytest.raises(gradus.InputError, match=words):
            gradus.read_catalogue(path, **arguments)
    with pytest.raises(gradus.UsageError, match="leave them out"):
        gradus.read_catalogue(path, ["x"], table="points")


def test_other_files(tmp_path):
    with pytest.raises(gradus.UsageError, match="FITS or HDF5"):
        gradus.read_catalogue("points.csv")
    with pytest.raises(gradus.UsageError, match="list of names"):
        gradus.read_catalogue("points.fits", "RA")
