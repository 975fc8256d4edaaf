"""Files of traces: the layouts that are read, and one line for everything that is wrong with one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ehfl.energy.traces.reader import DAY, Record, read_record
from ehfl.validation import InvalidValue, UserError

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "energy"
NO_POWER = "a trace of powers that are finite numbers >= 0, got "
MEMENTOS = "103717744\t3.0\n103717745\t-3.0\n103717746\t0\n"


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_seconds_and_columns_of_power(tmp_path: Path) -> None:
    record = read_record(written(tmp_path, "time,Berlin,São Paulo\n0,0.5,1\n300,0.25,0\n"))

    assert record.names == ("Berlin", "São Paulo")
    assert record.times.tolist() == [0, 300] and (record.step, record.duration) == (300, 600)
    assert record.watts.tolist() == [[0.5, 1], [0.25, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "time;a;b\n0;1;2\n60;3;4\n",
        "a\ttime\tb\n1\t0\t2\n3\t60\t4\n",
        "# measured on the roof\n\n time , a , b \n0,1,2\n\n60,3,4\n",
        "Timestamp,a,b\n2026-01-31 23:59:00,1,2\n2026-02-01 00:00:00,3,4\n",
        "datetime,a,b\n2026-01-31T23:59:00Z,1,2\n2026-02-01T00:00:00+00:00,3,4\n",
        '"time","a","b"\n"2026-01-31T23:59:00-05:00","1","2"\n"2026-02-01T00:00:00-05:00","3","4"\n',
    ],
)
def test_separators_comments_and_stamps(text: str, tmp_path: Path) -> None:
    record = read_record(written(tmp_path, text))

    assert (record.names, record.times.tolist(), record.watts.tolist()) == (("a", "b"), [0, 60], [[1, 2], [3, 4]])


def test_stamps_keep_their_own_time_of_day(tmp_path: Path) -> None:
    text = "time,a\n2026-01-31T06:00:00+09:00,1\n2026-01-31T07:00:00+09:00,2\n"

    assert read_record(written(tmp_path, text)).start % 86_400 == 6 * 3600


def test_rows_that_last_unlike_are_taken_as_long_as_they_last(tmp_path: Path) -> None:
    record = read_record(written(tmp_path, "time,a\n0,1\n10,2\n40,4\n50,0\n"))

    assert (record.step, record.duration) == (10, 60)
    assert record.energy.energy[:, 0].tolist() == [0, 10, 70, 110, 110]


def test_only_the_columns_that_are_named_are_looked_at(tmp_path: Path) -> None:
    light = "timestamp,lux,temp,isc_a\n2020-01-01 00:00:00,100,-4,x\n2020-01-01 00:05:00,50,-5,y\n"

    record = read_record(written(tmp_path, light), columns="lux")

    assert record.watts.ravel().tolist() == [100, 50]


def test_mementos_voltage_becomes_power_in_its_resistor(tmp_path: Path) -> None:
    record = read_record(written(tmp_path, MEMENTOS, "rf.txt"))

    assert (record.names, record.step, record.duration) == (("rf",), 0.001, 0.003)
    assert record.watts.ravel().tolist() == pytest.approx([9 / 30_000, 9 / 30_000, 0])
    assert read_record(written(tmp_path, MEMENTOS, "rf.txt"), ohms=9).watts.max() == 1
    assert read_record(written(tmp_path, MEMENTOS.replace("-", ""), "rf.txt"), format="power").watts.max() == 3


def test_mementos_clock_goes_on_over_the_minute_and_its_early_seconds_are_put_right(tmp_path: Path) -> None:
    stamps = [34934999, 34936000, 34935001, *range(34935002, 34936000), *range(34936000, 34960000), 35000000, 35000001]
    record = read_record(written(tmp_path, "".join(f"{stamp}\t1\n" for stamp in stamps)))

    assert np.allclose(np.diff(record.times), 0.001, rtol=0, atol=1e-9)
    assert record.start == pytest.approx(3 * 3600 + 49 * 60 + 34.999)


def test_milliseconds_that_no_clock_shows_are_counted(tmp_path: Path) -> None:
    record = read_record(written(tmp_path, "".join(f"{ms}\t1\n" for ms in range(59_000, 61_000, 10))))

    assert (record.start, record.step, record.duration) == (59.0, 0.01, 2.0)


def test_voltage_in_a_file_with_headings_needs_its_resistor(tmp_path: Path) -> None:
    path = written(tmp_path, "time,cell\n0,-2\n1,1\n")

    assert read_record(path, format="voltage", ohms=4).watts.ravel().tolist() == [1, 0.25]
    with pytest.raises(InvalidValue, match=r"^ohms must be given with format voltage: P = V\^2 / ohms, got nothing$"):
        read_record(path, format="voltage")
    with pytest.raises(InvalidValue, match=r"^ohms must be left out: the file holds power, unless format is voltage"):
        read_record(written(tmp_path, "time,cell\n0,2\n1,1\n"), ohms=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a trace of two rows or more, got 0 in trace.csv"),
        ("time,a\n0,1\n", "a trace of two rows or more, got 1 in trace.csv"),
        ("time,a\n", "a trace of two rows or more, got 0 in trace.csv"),
        ("day,a\n0,1\n1,1\n", "a trace with a heading that names a column time or timestamp or datetime, "
                              "got trace.csv with day, a"),
        (",a\n0,1\n1,1\n", "a trace with a heading that names a column time or timestamp or datetime, "
                           "got trace.csv with column 0, a"),
        ("time\n0\n1\n", "a trace with a column of power beside its times, got trace.csv"),
        ("time,a\n0,1\n1,-0.5\n", NO_POWER + "-0.5 for a in row 2 of trace.csv"),
        ("time,a\n0,1\n1,nan\n", NO_POWER + "nan for a in row 2 of trace.csv"),
        ("time,a\n0,1\n1,\n", NO_POWER + "'' for a in row 2 of trace.csv"),
        ("time,a\n0,1\n1,inf\n", NO_POWER + "inf for a in row 2 of trace.csv"),
        ("time,a\n0,1\n1,two\n", NO_POWER + "two for a in row 2 of trace.csv"),
        ("0\t1\n1\tx\n", "a trace of voltages that are finite numbers, got x for trace in row 2 of trace.csv"),
        ("time,a\n0,1\n9,1\n9,1\n", "a trace whose times ascend, got 9 after 9 in row 3 of trace.csv"),
        ("time,a\n5,1\n4,1\n", "a trace whose times ascend, got 4 after 5 in row 2 of trace.csv"),
        ("time,a\n0,1\nsoon,1\n", "a trace whose times are seconds, or ISO stamps such as 2026-01-31 12:00:00, "
                                  "got soon in row 2 of trace.csv"),
        ("time,a\nnoon,1\n13,1\n", "a trace whose times are seconds, or ISO stamps such as 2026-01-31 12:00:00, "
                                   "got noon in row 1 of trace.csv"),
        ("time,a\n0,1\n60,1\n120,1\n400,1\n", "a trace without gaps: at most 3 times its usual step of 60 s, "
                                              "got 280 s from 120 to 400 in row 4 of trace.csv"),
        ("time,a\n2026-03-29T01:00:00Z,1\n2026-03-29T02:00:00,1\n",
         "a trace whose times are seconds, or ISO stamps such as 2026-01-31 12:00:00, "
         "got 2026-03-29T02:00:00 in row 2 of trace.csv"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)

    with pytest.raises(InvalidValue) as refused:
        read_record(path)

    assert str(refused.value) == f"file must be {message}"


@pytest.mark.parametrize("row", ["1,1,7", "1,1,7\n2,2,7", "1"])
def test_rows_that_do_not_fit_the_headings_are_refused(row: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"file must be a readable trace|got '' for a in row 2"):
        read_record(written(tmp_path, f"time,a\n0,1\n{row}\n"))
    for text in ("time,a\n0,1,7\n1,1,7\n", "0,1,2\n1,1,2\n", "time,a,a\n0,1,1\n1,1,1\n"):
        with pytest.raises(InvalidValue, match="file must be a readable trace"):
            read_record(written(tmp_path, text, "all.csv"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "c"}, "columns must be of a, b, got c"),
        ({"columns": []}, r"columns must be a heading or a list of headings, got \[\]"),
        ({"columns": [1]}, r"columns must be a heading or a list of headings, got \[1\]"),
        ({"format": "current"}, "format must be auto, power or voltage, got 'current'"),
        ({"format": "voltage", "ohms": -1}, r"ohms must be a number in \(0, 1e12\], got -1"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        read_record(written(tmp_path, "time,a,b\n0,1,2\n1,1,2\n"), **options)  # type: ignore[arg-type]


def test_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidValue, match=r"file must be a readable trace, CSV or Parquet, got .*none.csv \(No such"):
        read_record(tmp_path / "none.csv")
    with pytest.raises(InvalidValue, match=r"file must be a readable trace, CSV or Parquet, got .* \(Is a directory"):
        read_record(tmp_path)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(
        InvalidValue, match=r"file must be a readable trace, CSV or Parquet, got .*binary.csv \('utf-8'"
    ):
        read_record(tmp_path / "binary.csv")
    monkeypatch.setattr("ehfl.machine.free_memory", lambda: 1e6)
    with pytest.raises(InvalidValue, match=r"file must be small enough for the memory that is free .* got .*large.csv"):
        read_record(written(tmp_path, "time,a\n" + "0,1\n" * 30_000, "large.csv"))


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = written(tmp_path, "time,a\n0,1\n1,1\n")
    before = read_record(path)
    assert read_record(path) is before

    written(tmp_path, "time,a\n0,2\n1,2\n")
    os.utime(path, ns=(1, 1))

    assert read_record(path).watts.max() == 2


def test_parquet_holds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def read(**columns: object) -> Record:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"  # another each time: one file is read once
        parquet.write_table(pyarrow.table(columns), path)
        return read_record(path)

    stamps = np.array(["2026-01-31T12:00", "2026-01-31T13:00"], dtype="datetime64[ns]")
    for times in (np.array([0, 3600]), stamps, ["2026-01-31 12:00", "2026-01-31 13:00"]):
        record = read(roof=np.array([1, 2]), time=times)
        assert (record.names, record.step, record.watts.ravel().tolist()) == (("roof",), 3600, [1, 2])
    assert record.start % 86_400 == 12 * 3600
    with pytest.raises(InvalidValue, match=r"got nan for roof in row 2 of \d+.parquet$"):
        read(time=[0, 1], roof=[1.0, None])
    with pytest.raises(InvalidValue, match=r"seconds, or ISO stamps .* got NaT in row 2 of \d+.parquet$"):
        read(time=np.array(["2026-01-31", "NaT"], dtype="datetime64[us]"), roof=[1.0, 2.0])
    with pytest.raises(InvalidValue, match=r"names a column time"):
        read(day=[0, 1], roof=[1.0, 2.0])
    with pytest.raises(InvalidValue, match=r"file must be a readable trace, CSV or Parquet, got .*text.parquet \("):
        read_record(written(tmp_path, "time,a\n0,1\n1,1\n", "text.parquet"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"a Parquet file needs pyarrow: pip install 'ehfl\[parquet\]'"):
        read_record(written(tmp_path, "", "other.parquet"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not here")
def test_the_shared_records_are_read_whole() -> None:
    cities = read_record(SHARED / "solar_10cities_5min.csv")
    radio = [read_record(SHARED / f"rf_mementos_{i}.txt") for i in (1, 2, 3)]

    assert (len(cities.names), cities.duration) == (10, 29 * 86_400)
    assert [round(record.duration, 3) for record in radio] == [25.274, 39.232, 39.46]
    with pytest.raises(InvalidValue, match=r"names a column time"):
        read_record(SHARED / "wind_weather_2010_hourly.csv")


def test_summer_time_is_put_into_standard_time(tmp_path: Path) -> None:
    hours = [
        "2026-03-29T00:00:00+01:00",
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29 04:00+02:00",
    ]
    record = read_record(written(tmp_path, "time,a\n" + "".join(f"{hour},1\n" for hour in hours)))

    assert record.times.tolist() == [0, 3600, 7200, 10_800]
    assert record.start % DAY == 0  # midnight in standard time


@pytest.mark.parametrize("unit", [1, 1000, 10**6, 10**9])
def test_times_since_1970_are_told_by_their_size(unit: int, tmp_path: Path) -> None:
    start = 1_769_904_000  # 2026-02-01
    rows = "".join(f"{(start + 60 * minute) * unit},1\n" for minute in range(3))
    record = read_record(written(tmp_path, f"time,a\n{rows}"))

    assert record.start == pytest.approx(start)
    assert record.duration == pytest.approx(180)
