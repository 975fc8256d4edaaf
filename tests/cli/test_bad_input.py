"""Bad input, command by command: one line that says what was wrong, what is allowed and what was given; exit code 2.

To add a case, add a row: the command line, and what its line must say, where " ... " stands for anything. Rows are run
in a folder with the files that stand in FILES. LONG, DEEP and NESTED stand for texts of thousands of letters.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
import typer.main

from ehfl.cli import app as application
from ehfl.cli import main
from ehfl.learning.tasks.cifar10_files import TEST, TRAINING

Row = tuple[str, str]

JOULES = "--round-length '1 h' --capacity '5 Wh' --cost '12 J'"

THE_LINE: list[Row] = [
    ("nosuch", "command must be one of compare, report, simulate, plan, audit, bound, ... flower, got nosuch"),
    ("plan --want 20", '--want must be as in "20 clients in 99 % of rounds", got 20'),
    ("plan --free battery", "--free must be left out without --want, which says what it is for, got battery"),
    ("plan --want '2 clients in 9 %' --free moon", "--free must be one of battery, panel, clients, round, got moon"),
    (
        "plan --want '2 clients in 9 %' --free panel --rounds 5",
        "--free must be something else than panel: bernoulli has none",
    ),
    (
        "plan --want '2 clients in 9 %' --free round --rounds 5",
        "--free must be something else than round: rounds have",
    ),
    (
        "plan --want '2 clients in 9 %' --free battery -s always-on --rounds 5",
        "--free must be left out where all schedulers are on mains power, got battery",
    ),
    (
        "plan --rate 0.1,0.9 --want '2 clients in 9 %' --free clients --rounds 5",
        "--free must be something else than clients: another number needs other values ... got clients",
    ),
    (
        "plan --capacity 0 --rate 7 --want '2 clients in 9 %' --free battery --rounds 5",
        "--rate must be in [0, 1], got 7",
    ),
    ("plan --sustain 90 -s greedy --rounds 5", "--sustain must be left out where no scheduler on ... target, got 90"),
    (
        "plan --sustain 90 -s always-on --rounds 5",
        "--sustain must be left out where no scheduler on ... target, got 90",
    ),
    (
        "plan --want '20 clients in 9 % of rounds' --rounds 5",
        "--want must be for at most 10 clients, unless clients are free, got 20 clients in 9 % of rounds",
    ),
    ("plan --sustain 0", "--sustain must be a number in (0, 100], got 0"),
    ("plan --seeds 0", "--seeds must be a whole number in [1, 1000], got 0"),
    ("plan --rounds 0", "--rounds must be a whole number in [1, 1000000], got 0"),
    ("plan mine.toml --rate 0.5", "--rate must be left out with a spec: use -o KEY=VALUE, got 0.5"),
    ("simulat", "command must be one of compare, ... flower, got simulat (did you mean simulate?)"),
    ("--nosuch", "option must be one of --version, --help, got --nosuch"),
    ("simulate --nosuch", "option must be one of --clients, ... --help, got --nosuch"),
    ("simulate --round 5", "option must be one of --clients, ... --help, got --round (did you mean --rounds?)"),
    ("simulate -z", "option must be one of --clients, ... --help, got -z"),
    ("simulate extra", "ehfl simulate must be given options alone, got extra as well"),
    ("simulate --clairvoyant=yes", "--clairvoyant must be given without a value, got one"),
    ("simulate --json=yes", "--json must be given without a value, got one"),
    ("simulate --rate", "--rate must be given a value, got none"),
    ("compare -o", "-o must be given a value, got none"),
    ("compare one.toml two.toml", "ehfl compare must be given one SPEC at most, got two.toml as well"),
    ("audit one.toml two.toml", "ehfl audit must be given one SPEC at most, got two.toml as well"),
    ("audit --seeds 1", "--seeds must be a whole number in [2, 10000], got 1"),
    ("audit --figure weights.txt", "--figure must be a file name that ends in .png, .svg, .pdf, got weights.txt"),
    ("audit -o learning.task=quadratic --classes", "--classes must be left out: quadratic has no classes"),
    ("audit -o learning.partition=shards:9999", "learning.partition ... got 9999"),
    ("report", "RUN must be given, got nothing"),
    ("train extra", "ehfl train must be given options alone, got extra as well"),
    ("simulate --rounds 5 --rounds 6", "--rounds must be given once, got 2 of it"),
    ("train -s myopic -s greedy", "--scheduler must be given once, got 2 of it"),
    ("train --task quadratic --task digits", "--task must be given once, got 2 of it"),
    ("bound --gap 1 --gap 2", "--gap must be given once, got 2 of it"),
    ("compare --runs a --runs b", "--runs must be given once, got 2 of it"),
    ("simulate --rounds 5 -o rounds=6", "--rounds must be left out where -o rounds is given, got 5"),
    ("simulate --seed 5 -o seeds=[6]", "--seed must be left out where -o seeds is given, got 5"),
    (
        "simulate -s greedy -o \"schedulers=['myopic']\"",
        "--scheduler must be left out where -o schedulers is given, got ['greedy']",
    ),
    ('simulate --capacity 5 -o "fleet={capacity=6}"', "--capacity must be left out where -o fleet is given, got 5"),
    ("train --clip 1 -o learning.clip=2", "--clip must be left out where -o learning.clip is given, got 1.0"),
    ("compare --data torn -o learning.data=torn", "--data must be given once, got torn"),
    ("bound mine.toml --rate 0.5", "--rate must be left out with a spec, which has it: use -o KEY=VALUE, got 0.5"),
    ("bound mine.toml --rounds 5", "--rounds must be left out with a spec, which has it: use -o KEY=VALUE, got 5"),
    (
        "bound mine.toml --local-steps 5",
        "--local-steps must be left out with a spec, which has it: use -o KEY=VALUE, got 5",
    ),
    (
        "bound mine.toml -s greedy",
        "--scheduler must be left out with a spec, which has it: use -o KEY=VALUE, got ['greedy']",
    ),
    ("bound --task quadratic --gap 2", "--gap must be left out with --task, which estimates it, got 2.0"),
    (
        "bound --task quadratic --heterogeneity 2",
        "--heterogeneity must be left out with --task, which estimates it, got 2.0",
    ),
    ("bound --task digits --gap 3", "--gap must be left out with --task, which estimates it, got 3.0"),
    ("bound --seeds 9", "--seeds must be left out without --verify, got 9"),
    ("bound --verify --eta 5", "--eta must be left out with --verify, which has problems of its own, got 5.0"),
    (
        "bound --verify --task digits",
        "--task must be left out with --verify, which has problems of its own, got digits",
    ),
]

DEVICES: list[Row] = [
    ("devices --device cortex-m5 --radio ble", "--device must be one of ... got cortex-m5 (did you mean cortex-m4?)"),
    ("devices --device cortex-m4 --radio blue", "--radio must be one of ... got blue (did you mean ble?)"),
    ("devices --device cortex-m4", "--radio must be one of ... got nothing"),
    ("devices --radio ble", "--device must be one of ... got nothing"),
    ("devices --task digits", "--task must be left out without --device and --radio, got digits"),
    ("devices --local-steps 2", "--local-steps must be left out without --device and --radio, got 2"),
    ("devices --device cortex-m4 --radio ble -k 0", "--local-steps must be a whole number >= 1, got 0"),
    ("devices --device cortex-m4 --radio ble --task nosuch", "--task must be one of digits, ... got nosuch"),
    (
        "devices --device cortex-m4 --radio ble --aggregation nosuch",
        "--aggregation must be one of mean, ... got nosuch",
    ),
    (
        "devices --device cortex-m4 --radio ble --task wells",
        "flop_per_sample must be given, above 0: wells is no network whose work could be counted, got nothing",
    ),
    ("devices -o session=2", "--device must be one of ... got nothing"),
    (
        "devices --device cortex-m4 --radio ble -o sesion=2",
        "sesion must be one of ... got sesion (did you mean session?)",
    ),
    ("devices --device cortex-m4 --radio ble -o session=-2", "session must be a number in [0, 1e30], got -2"),
    ("devices --device cortex-m4 --radio ble -o session=much", "session must be a number, got 'much'"),
    (
        "devices --device cortex-m4 --radio ble -o device=ble",
        "device must be left out where --device is given, got ble",
    ),
    (
        "devices --device cortex-m4 --radio ble -o flop_per_joule=1 -o joules_per_sample=2",
        "joules_per_sample must be left out where flop_per_joule is given: either says it all, got 2",
    ),
    (
        "simulate --round-length 60 -o fleet.arrival=1 --cost \"{device='cortex-m5',radio='ble'}\"",
        "--cost device must be one of ... got cortex-m5 (did you mean cortex-m4?)",
    ),
    (
        "simulate --round-length 60 -o fleet.arrival=1 --cost \"{device='cortex-m4',radio='ble',session=-1}\"",
        "--cost session must be a number in [0, 1e30], got -1",
    ),
    (
        "simulate --cost \"{device='cortex-m4',radio='ble'}\"",
        "--cost must be a number of units, unless ... is given, got {'device': 'cortex-m4', 'radio': 'ble'}",
    ),
    ("devices extra", "ehfl devices must be given options alone, got extra as well"),
]

NUMBERS: list[Row] = [
    ("simulate --rounds 0", "--rounds must be a whole number in [1, 10000000], got 0"),
    ("simulate --rounds -5", "--rounds must be a whole number in [1, 10000000], got -5"),
    ("simulate --rounds many", "--rounds must be a whole number in [1, 10000000], got 'many'"),
    ("simulate --rounds ''", "--rounds must be a whole number in [1, 10000000], got ''"),
    ("simulate --rounds 2.5", "--rounds must be a whole number in [1, 10000000], got '2.5'"),
    ("simulate --rounds 1e3", "--rounds must be a whole number in [1, 10000000], got '1e3'"),
    ("simulate --rounds nan", "--rounds must be a whole number in [1, 10000000], got 'nan'"),
    ("simulate --rounds true", "--rounds must be a whole number in [1, 10000000], got 'true'"),
    ("simulate --rounds ١٢", "--rounds must be a whole number in [1, 10000000], got '١٢'"),
    ("simulate --rounds 1__0", "--rounds must be a whole number in [1, 10000000], got '1__0'"),
    (
        "simulate --rounds 99999999999999999999999",
        "--rounds must be a whole number in [1, 10000000], got 99999999999999999999999",
    ),
    ("simulate --clients 0", "--clients must be a whole number >= 1, got 0"),
    ("simulate --clients ''", "--clients must be a whole number >= 1, got ''"),
    ("simulate --clients inf", "--clients must be a whole number >= 1, got 'inf'"),
    ("simulate --clients 2147483648", "--clients must be a whole number in [1, 2147483647], got 2147483648"),
    ("simulate --clients 2147483647 --rounds 1", "--clients must be small enough for the memory ... got 2147483647 ("),
    (
        "train --task quadratic --local-steps 99999999999999999999",
        "--local-steps must be small enough to end in a year",
    ),
    (
        "train --task quadratic --local-steps 1000000000000 --run long",  # each round within a year, all of them not
        "--local-steps must be small enough to end in a year, got 1000000000000 (95 years)",
    ),
    (
        "compare mine.toml -o learning.local_steps=1000000000000",
        "learning.local_steps must be small enough to end in a year, got 1000000000000 (1.6 years)",
    ),
    ("simulate --seed -1", "--seed must be a whole number in [0, 18446744073709551615], got -1"),
    (
        "simulate --seed 18446744073709551616",
        "--seed must be a whole number in [0, 18446744073709551615], got 18446744073709551616",
    ),
    ("simulate --seed x", "--seed must be a whole number in [0, 18446744073709551615], got 'x'"),
    ("simulate --seeds 0", "--seeds must be a whole number in [1, 10000], got 0"),
    ("simulate --seeds many", "--seeds must be a whole number in [1, 10000], got 'many'"),
    ("simulate --seeds 1000000", "--seeds must be a whole number in [1, 10000], got 1000000"),
    ("simulate --seeds 2 --seed 18446744073709551615", "--seed must be a whole number in [0, 18446744073709551615]"),
    ("simulate --target 0", "--target must be auto or a whole number >= 1, got 0"),
    ("simulate --target 11", "--target must be auto or in [1, 10] (the clients), got 11"),
    ("simulate --target some", "--target must be auto or a whole number >= 1, got 'some'"),
    ("simulate --target ''", "--target must be auto or a whole number >= 1, got ''"),
    ("simulate --target 2.5", "--target must be auto or a whole number >= 1, got 2.5"),
    ("simulate --rate 1.5", "--rate must be in [0, 1], got 1.5"),
    ("simulate --rate -0.1", "--rate must be in [0, 1], got -0.1"),
    ("simulate --rate nan", "--rate must be in [0, 1], got nan"),
    ("simulate --rate inf", "--rate must be in [0, 1], got inf"),
    ("simulate --rate true", "--rate must be a number, a list or a file with one per client, ... got True"),
    ("simulate --rate ''", "--rate must be a number, a list or a file with one per client, ... got ''"),
    (
        "simulate --rate ,",
        "--rate must be a number, a list or a file with one per client, ... got , (there is no such file)",
    ),
    ("simulate --rate 0.1,nan", "--rate must be in [0, 1], got nan for client 1"),
    (
        "simulate --rate 0.1,x",
        "--rate must be a number, a list or a file with one per client, ... got 0.1,x (there is no such file)",
    ),
    (
        "simulate --rate \u0660",
        "--rate must be a number, a list or a file with one per client, ... got \u0660 (there is no such file)",
    ),
    (
        "simulate --rate 1e400",
        "--rate must be a number, a list or a file with one per client, ... got 1e400 (there is no such file)",
    ),
    ("simulate --rate 0.1,0.2 --clients 3", "--rate must be one number or one per client (3), got a list of 2"),
    (
        "simulate --rate missing.txt",
        "--rate must be a number, a list or a file with one per client, ... got missing.txt (there is no such file)",
    ),
    (
        "simulate --rate words.txt",
        "--rate must be a readable file of numbers ... got words.txt (could not convert string to float: 'half')",
    ),
    ("simulate --rate torn", "--rate must be a readable file of numbers, .npy or text, got torn (Is a directory)"),
    (
        "simulate --rate '{low=0.1}'",
        "--rate must be a number, a list or a file with one per client, ... got {'low': 0.1}",
    ),
    ("simulate --rate '{low=0.1,high=2}'", "--rate must be in [0, 1], got 1.15556 for client 5"),
    ("simulate --rate 0.5 --harvest bernoulli:0.2", "--rate must be left out where fleet.harvest is given, got 0.5"),
    ("simulate --capacity -1", "--capacity must be inf or a whole number in [0, 1073741823], got -1"),
    (
        "simulate --capacity 0",
        "--capacity must be at least what a round costs, or nobody could ever pay, got 0 with a cost of 1",
    ),
    ("simulate --capacity 1.5", "--capacity must be inf or a whole number in [0, 1073741823], got 1.5"),
    ("simulate --capacity nan", "--capacity must be inf or a whole number in [0, 1073741823], got nan"),
    (
        "simulate --capacity 1e400",
        "--capacity must be a number, a list or a file with one per client, ... got 1e400 (there is no such file)",
    ),
    (
        "simulate --capacity lots",
        "--capacity must be a number, a list or a file with one per client, ... got lots (there is no such file)",
    ),
    ("simulate --capacity 2 --initial 3", "--initial must be at most the capacity 2, got 3"),
    ("simulate --capacity 1,2 --initial 2 --clients 2", "--initial must be at most the capacity 1, got 2 for client 0"),
    (
        "simulate --capacity '5 Wh'",
        "--capacity must be a number of units, unless fleet.round_length is given, got '5 Wh'",
    ),
    (
        "simulate --initial '20 %'",
        "--initial must be a number of units, unless fleet.round_length is given, got '20 %'",
    ),
    ("simulate -o fleet.quantum=1", "fleet.quantum must be left out unless fleet.round_length is given, got 1"),
    (
        "simulate --round-length '1 year'",
        "--round-length must be a number [s], or a text with a unit (s, ... got 1 year",
    ),
    (f"simulate {JOULES}", "fleet.arrival must be given, what a unit of the harvest brings [J], ... got nothing"),
    (f"simulate {JOULES} -o fleet.arrival=20 -o fleet.unit=mJ", "fleet.unit must be left out where ... got mJ"),
    (f"simulate {JOULES} -o fleet.arrival=20 -o fleet.efficiency=2", "fleet.efficiency must be in (0, 1], got 2.0"),
    (
        f"simulate {JOULES} -o fleet.arrival=20 -o fleet.standby='5 J'",
        "fleet.standby must be a number [W], ... got 5 J",
    ),
    (f"simulate {JOULES} -o fleet.arrival=20 --initial '200 %'", "--initial must be at most the capacity, got 36000.0"),
    (
        f"simulate {JOULES} -o fleet.arrival=20 -o fleet.quantum=7",
        "fleet.quantum must be one of which a round's cost (12 J) is a whole number to 0.1 %, such as 0.01, got 7",
    ),
    (
        f"simulate {JOULES} -o fleet.arrival=20 -o fleet.quantum=1e-9",
        "fleet.quantum must be at least 1.68e-05 J, so that the largest battery (5 Wh) can be counted, got 1e-09",
    ),
    (
        "simulate --round-length '1 h' --capacity '10 J' --cost '12 J' -o fleet.arrival=1",
        "--capacity must be ... got clients can never take part: a round costs 12 J, a battery holds 10 J",
    ),
    ("simulate --initial -1", "--initial must be a whole number in [0, 1073741823], got -1"),
    ("simulate --initial inf", "--initial must be a whole number in [0, 1073741823], got inf"),
    ("simulate --initial '{low=0,high=inf}'", "--initial must be a number, a list ... got {'low': 0, 'high': inf}"),
    ("simulate --cost 0", "--cost must be a whole number in [1, 1073741823], got 0"),
    ("simulate --cost inf", "--cost must be a whole number in [1, 1073741823], got inf"),
    ("simulate --cost 1,2 --clients 3", "--cost must be one number or one per client (3), got an array of (2,)"),
    (
        "simulate --cost 5 --capacity 4",
        "--capacity must be at least what a round costs, or nobody could ever pay, got 4 with a cost of 5",
    ),
    (
        "simulate --cost 99999999999999999999999",
        "--cost must be a whole number in [1, 1073741823], got 99999999999999999999999",
    ),
    ("simulate --clients 5000 --rounds 1 --threads 100000", "--threads must be a whole number in [1, ... got 100000"),
    ("simulate --threads 0", "--threads must be a whole number in [1, ... got 0"),
    ("simulate --threads 99999999999999999999", "--threads must be a whole number in [1, ... got 99999999999999999999"),
    ("bound --smoothness 0", "--smoothness must be in [1e-50, 1e50], got 0.0"),
    ("bound --smoothness abc", "--smoothness must be a number, got abc"),
    ("bound --smoothness 1e60", "--smoothness must be in [1e-50, 1e50], got 1e+60"),
    ("bound --variance -1", "--variance must be 0 or in [1e-50, 1e50], got -1.0"),
    ("bound --variance inf", "--variance must be 0 or in [1e-50, 1e50], got inf"),
    ("bound --heterogeneity -1", "--heterogeneity must be 0 or in [1e-50, 1e50], got -1.0"),
    ("bound --heterogeneity much", "--heterogeneity must be a number, got much"),
    ("bound --gap 0", "--gap must be in [1e-50, 1e50], got 0.0"),
    ("bound --gap nan", "--gap must be in [1e-50, 1e50], got nan"),
    ("bound --gap ''", "--gap must be a number, got ''"),
    ("bound --eta 0", "--eta must be in (0, 8.94427], got 0"),
    ("bound --eta 1000", "--eta must be in (0, 8.94427], got 1000"),
    ("bound --local-steps 0", "--local-steps must be a whole number >= 1, got 0"),
    ("bound --verify --seeds 1", "--seeds must be a whole number in [2, 100000], got 1"),
    ("bound --verify --rate 0 --rounds 5", "myopic has no participants in any round: there is nothing to verify"),
    ("bound arms.toml", "arms[2].learning.local_steps must be left out here: bounds have one of it for all arms"),
    ("bound always-on.toml", "always-on must not be the label of another arm: it is what mains power is called here"),
    ("bound rounds.toml", "arms[1].rounds must be left out here: bounds have one of it for all arms"),
    ("train --local-steps 0", "--local-steps must be a whole number >= 1, got 0"),
    ("train --batch-size 0", "--batch-size must be a whole number >= 1, got 0"),
    ("train --eval-every 0", "--eval-every must be a whole number >= 1, got 0"),
    ("train --clip 0", "--clip must be a number in [1e-30, 1e30], got 0.0"),
    ("train --clip nan", "--clip must be a number in [1e-30, 1e30], got nan"),
    ("train --clip x", "--clip must be a number, got x"),
    ("train --weight-decay -1", "--weight-decay must be a number in [0, 1e30], got -1.0"),
    ("train --weight-decay 1e39", "--weight-decay must be a number in [0, 1e30], got 1e+39"),
    ("train --clip 1e-320", "--clip must be a number in [1e-30, 1e30], got 1e-320"),
    ("train --weight-decay 1e400", "--weight-decay must be a number, got 1e400"),
    ("train --task quadratic --threads 0", "--threads must be a whole number in [1, 1024], got 0"),
    (
        "train --task quadratic --threads 99999999999999999999",
        "--threads must be a whole number in [1, 1024], got 99999999999999999999",
    ),
    ("train --step-size 0", "--step-size must be a number in [1e-30, 1e30], got 0"),
    ("train --step-size -1", "--step-size must be a number in [1e-30, 1e30], got -1"),
    ("train --step-size 1e300", "--step-size must be a number in [1e-30, 1e30], got 1e+300"),
    ("train --step-size 5e-324", "--step-size must be a number in [1e-30, 1e30], got 5e-324"),
    ("train --step-size ''", "--step-size must be one of theorem, ... or package.module:Class, got ''"),
    ("train --step-size nominal:initial=0", "--step-size initial must be a number in [1e-30, 1e30], got 0"),
    ("compare -o rounds=0", "rounds must be a whole number in [1, 10000000], got 0"),
    ("compare -o rounds=", "rounds must be a whole number in [1, 10000000], got ''"),
    ("compare -o rounds=many", "rounds must be a whole number in [1, 10000000], got 'many'"),
    ("compare -o rounds=true", "rounds must be a whole number in [1, 10000000], got True"),
    ("compare -o seeds=0", "seeds must be how many (1 to 10,000) or a list of ... got 0"),
    ("compare -o seeds=[1,1]", "seeds must be how many (1 to 10,000) or a list of ... got [1, 1]"),
    ("compare -o fleet.clients=0", "fleet.clients must be a whole number >= 1, got 0"),
    ("compare -o learning.step_size=1e300", "learning.step_size must be a number in [1e-30, 1e30], got 1e+300"),
    ("compare -o learning.step_size=5e-324", "learning.step_size must be a number in [1e-30, 1e30], got 5e-324"),
    ("compare --jobs 0", "--jobs must be a whole number >= 1, got 0"),
    ("compare --jobs x", "--jobs must be a whole number >= 1, got 'x'"),
    ("report . --goal inf", "--goal must be a finite number, got inf"),
    ("report . --goal x", "--goal must be a number, got x"),
]

NAMES: list[Row] = [
    ("simulate -s ''", "--scheduler must be one of myopic, ... or package.module:Class, got ''"),
    (
        "simulate -s myopik",
        "--scheduler must be one of myopic, ... or package.module:Class, got myopik (did you mean myopic?)",
    ),
    ("simulate -s myopic:-1", "--scheduler target must be a whole number >= 1, got -1"),
    ("simulate -s myopic:x", "--scheduler target must be a whole number or auto, got 'x'"),
    ("simulate -s greedy:2", "--scheduler must be greedy without parameters: it takes none, got greedy:2"),
    (
        "simulate -s myopic:",
        "--scheduler must be NAME, NAME:VALUE or NAME:parameter=value,parameter=value, got myopic:",
    ),
    ("simulate -s round-robin:11", "--scheduler per_round must be in [1, 10] (the clients), got 11"),
    (
        "simulate -s round-robin:per_rond=1",
        "--scheduler per_rond must be a parameter of round-robin ... got per_rond (did you mean per_round?)",
    ),
    (
        "simulate -s round-robin:per_round=1,per_round=2",
        "--scheduler must be NAME, NAME:VALUE or NAME:parameter=value,parameter=value, got per_round=1,per_round=2",
    ),
    (
        "simulate -s nowhere:Scheduler",
        "--scheduler must be importable as package.module:Class, got nowhere:Scheduler (No module named 'nowhere')",
    ),
    (
        "simulate -s bad_input_mine.py",
        "--scheduler must be one of ... got bad_input_mine.py (which class in it? bad_input_mine:Class)",
    ),
    (
        "simulate -s bad_input_mine.py:Nobody",
        "--scheduler must be importable ... (module 'bad_input_mine' has no attribute 'Nobody')",
    ),
    (
        "simulate -s folder/bad_input_mine.py:Mine",
        "--scheduler must be importable as package.module:Class, got folder/bad_input_mine.py:Mine "
        "(a module has dots in its name, no slashes; -o code=FOLDER says where it lies)",
    ),
    (
        "train --task ./bad_input_mine.py:Mine",
        "got ./bad_input_mine.py:Mine (a module has dots in its name, no slashes",
    ),
    ("simulate -s ..bad_input_mine:Mine", "got ..bad_input_mine:Mine (a module has dots in its name, no slashes"),
    (
        "simulate --harvest bad_input_moving:Sun",
        "--harvest names bad_input_moving:Sun, which breaks the rules: is no pure",
    ),
    (
        "bound --harvest bad_input_moving:Sun",
        "--harvest names bad_input_moving:Sun, which breaks the rules: is no pure",
    ),
    (
        "train --task bad_input_classes:Nine",
        "--task names bad_input_classes:Nine, which breaks the rules: classes of task digits must be as many as there "
        "are: targets must be in [0, 8], got 9 in the training set",
    ),
    (
        "train --task bad_input_classes:Eleven",
        "--task names bad_input_classes:Eleven, which breaks the rules: model must be one with an output for each of "
        "its task's 11 classes, got outputs of shape (64, 10)",
    ),
    (
        "simulate -s bad_input_leaving:Mine",
        "--scheduler must be importable as package.module:Class, got bad_input_leaving:Mine (SystemExit: 0)",
    ),
    (
        "simulate -s '{name=3}'",
        "--scheduler must be one of myopic, ... or package.module:Class, or a table with such a name, got {'name': 3}",
    ),
    (
        "simulate -s greedy -s greedy",
        "--scheduler must have labels that differ in letters or digits, got greedy and greedy",
    ),
    (
        "simulate -s greedy -s GREEDY",
        "--scheduler must have labels that differ in letters or digits, got greedy and GREEDY",
    ),
    ("simulate --harvest ''", "--harvest must be one of bernoulli, ... or package.module:Class, got ''"),
    (
        "simulate --harvest bernouli",
        "--harvest must be one of bernoulli, ... or package.module:Class, got bernouli (did you mean bernoulli?)",
    ),
    ("simulate --harvest bernoulli:2", "--harvest rate must be in [0, 1], got 2"),
    ("simulate --harvest bernoulli", "--harvest rate must be given: bernoulli needs it, got nothing"),
    ("simulate --harvest markov:0.9", "--harvest stay_off must be given: markov needs it, got nothing"),
    (
        "simulate --harvest markov:stay_on=0.9,stay_of=0.8",
        "--harvest stay_of must be a parameter of markov, one of ... ",
    ),
    ("simulate --harvest markov:stay_on=2,stay_off=0.8", "--harvest stay_on must be in [0, 1], got 2"),
    (
        "simulate --harvest markov:stay_on=1,stay_off=1",
        "--harvest stay_off must be in [1e-06, 2 - 1e-06] together with stay_on: else it ... never changes, got 2",
    ),
    (
        "simulate --harvest markov:stay_on=0.9,stay_off=0.8,size=0",
        "--harvest size must be a whole number in [1, ... got 0",
    ),
    ("simulate --harvest markov:stay_on=0.9,stay_off=0.8,size=x", "--harvest size must be a whole number, got 'x'"),
    ("simulate --harvest poisson:-1", "--harvest rate must be in [0, 500], got -1"),
    ("simulate --harvest poisson:absent.csv", "--harvest rate must be a number, a list or a file ... no such file)"),
    (
        "simulate --harvest poisson:[1,2] --clients 3",
        "--harvest rate must be one number or one per client (3), got a list of 2",
    ),
    ("simulate --harvest compound:1", "--harvest mean_size must be given: compound needs it, got nothing"),
    ("simulate --harvest compound:rate=1,mean_size=0", "--harvest mean_size must be in [1, 500], got 0"),
    ("simulate --harvest compound:rate=9,mean_size=99", "--harvest rate must be at most 500 / mean_size ... got 9"),
    ("simulate --harvest periodic:[]", "--harvest pattern must be of shape (period,), got shape (0,)"),
    ("simulate --harvest periodic:[0.5]", "--harvest pattern must be whole numbers, got an array of float64"),
    (
        "simulate --harvest periodic:pattern=[1],shift=[1,2] --clients 3",
        "--harvest shift must be one number or one per client (3), got a list of 2",
    ),
    ("simulate --harvest replay:fifo", "--harvest arrivals must be a readable file ... (It is a pipe or a device)"),
    (
        f"simulate {JOULES} --harvest trace:negative.csv",
        "--harvest file must be a trace of powers ... got -3 for roof in line 3 of negative.csv",
    ),
    (
        f"simulate {JOULES} --harvest trace:gap.csv",
        "--harvest file must be a trace without gaps: at most 3 times ... got 780 s from 120 to 900 in line 5 of gap",
    ),
    (
        f"simulate {JOULES} --harvest trace:zones.csv",
        "--harvest file must be a trace whose times have one time zone ... got UTC+01:00 in line 2 of zones.csv and",
    ),
    (f"simulate {JOULES} --harvest trace", "--harvest file must be given: trace needs it, got nothing"),
    (
        f"simulate {JOULES} --harvest trace:fifo",
        "--harvest file must be a readable trace ... (It is a pipe or a device)",
    ),
    (
        f"simulate {JOULES} --harvest trace:file=roof.csv,shift=often",
        "--harvest shift must be none or even or random or days, got 'often'",
    ),
    (f"simulate {JOULES} --harvest trace:file=roof.csv,columns=wall", "--harvest columns must be of roof, got wall"),
    (
        f"simulate {JOULES} --harvest trace:file=roof.csv,beyond=refuse",
        "--rounds must be at most 1 of 3600 s: the record ends there, and beyond is refuse, got 1000",
    ),
    ("simulate --harvest trace:roof.csv", "--round-length must be given where a harvest is in watts (trace), got none"),
    ("simulate --harvest sun:2", "--round-length must be given where a harvest is in watts (sun), got none"),
    (f"simulate {JOULES} --harvest sun", "--harvest watts must be given: sun needs it, got nothing"),
    (f"simulate {JOULES} --harvest sun:-2", "--harvest watts must be in [0, 1e+09], got -2"),
    (
        f"simulate {JOULES} --harvest sun:watts=2,site=mars",
        "--harvest site must be north-carolina, alaska, florida, or a weather file ... got mars (No such file or",
    ),
    (
        f"simulate {JOULES} --harvest sun:watts=2,site=words.txt",
        "--harvest site must be ... words.txt (its first lines are of no format that is known)",
    ),
    (f"simulate {JOULES} --harvest sun:watts=2,site=fifo", "--harvest site must be ... (It is a pipe or a device)"),
    (
        f"simulate {JOULES} --harvest sun:watts=2,start=31-12",
        "--harvest start must be a day of the year as MM-DD (there is no 02-29), or first, got '31-12'",
    ),
    (f"simulate {JOULES} --harvest wind:2", "--harvest site must be given: wind needs it, got nothing"),
    (
        f"simulate {JOULES} --harvest wind:watts=2,site=words.txt",
        "--harvest site must be a weather file in windpowerlib's layout, ... words.txt (",
    ),
    ("simulate --harvest replay", "--harvest arrivals must be given: replay needs it, got nothing"),
    (
        "simulate --harvest replay:absent.csv",
        "--harvest arrivals must be a readable file of numbers ... got absent.csv (No such file or directory)",
    ),
    (
        "simulate --harvest replay:words.txt",
        "--harvest arrivals must be a readable file ... words.txt (could not convert string to float: 'half')",
    ),
    (
        "simulate --harvest words.txt:Sun",
        "--harvest must be importable as package.module:Class, got words.txt:Sun (No module named 'words')",
    ),
    ("bound --task nosuch", "--task must be one of digits, ... or package.module:Class, got nosuch"),
    (
        "bound --task quadratics",
        "--task must be one of digits, ... or package.module:Class, got quadratics (did you mean quadratic?)",
    ),
    ("bound --task quadratic --clients 1001", "--clients must be at most 1000 (the examples), got 1001"),
    ("bound --task ''", "--task must be one of digits, ... or package.module:Class, got ''"),
    (
        "train --task digit",
        "--task must be one of digits, ... or package.module:Class, got digit (did you mean digits?)",
    ),
    ("train --task sys:exit", "--task must be a class with model, loss, score, got sys:exit, which is not a class"),
    ("train --device tpu", "--device must be 'auto', 'cpu', 'cuda' or 'mps', got 'tpu'"),
    (
        "train --aggregation meen",
        "--aggregation must be one of mean, ... or package.module:Class, got meen (did you mean mean?)",
    ),
    (
        "compare -o learning.aggregation=inverse-probability -o scheduler=greedy -o fleet.rate=[0.5,0,1]",
        "learning.aggregation.probabilities must be above 0 for every client, "
        "got 0 for client 1, who never takes part: its weight would be infinite",
    ),
    (
        "train --aggregation inverse-probability --rate 0.5,0.00001,1 --rounds 5",
        "--aggregation probabilities must be above 0 for every client, "
        "got 0 for client 1, who took part in none of 200 simulated seeds: its weight would be infinite",
    ),
    (
        "train --aggregation inverse-probability -s power-of-choice --step-size 0.1",
        "--aggregation probabilities must be given, ... power-of-choice chooses by losses, ... got auto",
    ),
    (
        "train --clients 3 --aggregation 'inverse-probability:probabilities=[0.5,0.5]'",
        "--aggregation probabilities must be one per client (3), got a list of 2",
    ),
    (
        "train --clients 1 --aggregation inverse-probability:1.5",
        "--aggregation probabilities must be auto or one number in (0, 1] per client, got an array of shape ()",
    ),
    (
        "train --aggregation scheduled",
        "--aggregation must be used with a scheduler that brings weights (f3ast, ... got Scheduled with myopic",
    ),
    ("simulate -s f3ast:rate=0", "--scheduler rate must be a number in [1e-9, 1], got 0"),
    ("simulate -s f3ast:rate=1.5", "--scheduler rate must be a number in [1e-9, 1], got 1.5"),
    ("simulate -s most-rounds-left:0", "--scheduler target must be a whole number >= 1, got 0"),
    ("simulate -s threshold:-1", "--scheduler reserve must be a number in [0, 1e9], got -1"),
    ("simulate -s threshold:target=99", "--scheduler target must be in [1, 10] (the clients), got 99"),
    ("simulate -s lyapunov:nan", "--scheduler v must be auto or a number in [0, 1e9], got nan"),
    ("simulate -s lyapunov:lots", "--scheduler v must be a number or auto, got 'lots'"),
    (
        "simulate -s adaptive-steps",
        "fleet.step_cost must be given, or a cost by device and radio: adaptive-steps chooses ... got nothing",
    ),
    (
        "simulate -s adaptive-steps:reserve=-1 --cost 9 -o fleet.step_cost=1",
        "--scheduler reserve must be a number in [0, 1e9], got -1",
    ),
    (
        "simulate --cost 9 -o fleet.step_cost=3",
        "fleet.step_cost must be whole numbers >= 0 of which 4 are less than the cost of a turn of 5 steps, got 3",
    ),
    ("simulate --cost 9 -o fleet.step_cost=0.5", "fleet.step_cost must be whole numbers, got 0.5"),
    (
        "simulate --cost 9 -o 'fleet.step_cost=1 J'",
        "fleet.step_cost must be a number of units, unless fleet.round_length is given, got '1 J'",
    ),
    ("train --aggregation fednova:0", "--aggregation server_step must be a number in [1e-30, 1e30], got 0"),
    ("simulate -s forecast:0", "--scheduler horizon must be a whole number in [1, 100000], got 0"),
    ("simulate -s forecast:horizon=24,target=0", "--scheduler target must be a whole number >= 1, got 0"),
    (
        "simulate -s energy-cycles:3",
        "--scheduler must be energy-cycles without parameters: it takes none, got energy-cycles:3",
    ),
    ("train --aggregation fedavgm:1", "--aggregation momentum must be a number in [0, 1), got 1"),
    ("train --aggregation fedprox:-1", "--aggregation mu must be a number in [0, 1e30], got -1"),
    (
        "train --aggregation mifa:server_step=nan",
        "--aggregation server_step must be a number in [1e-30, 1e30], got nan",
    ),
    (
        "train --aggregation scaffold:mu=1",
        "--aggregation mu must be a parameter of scaffold, one of server_step, got mu",
    ),
    ("train --aggregation fedau:0", "--aggregation cutoff must be a whole number in [1, 2147483648], got 0"),
    ("train --aggregation fedau:server_step=0", "--aggregation server_step must be a number in [1e-30, 1e30], got 0"),
    ("train --aggregation ''", "--aggregation must be one of mean, ... or package.module:Class, got ''"),
    ("train --partition ''", "--partition must be one of iid, dirichlet, shards or package.module:Class, got ''"),
    ("train --partition dirichlet", "--partition alpha must be given: dirichlet needs it, got nothing"),
    ("train --partition dirichlet:0", "--partition alpha must be a number in (0, 1e9], got 0"),
    ("train --partition dirichlet:1e308", "--partition alpha must be a number in (0, 1e9], got 1e+308"),
    (
        "train --task quadratic --partition dirichlet:1e-9",
        "--partition alpha must be so large that at least 10 ... is reachable, got 1e-09",
    ),
    (
        "train --task quadratic --partition dirichlet:0.001",
        "--partition alpha must be so large that at least 10 ... is reachable, got 0.001",
    ),
    ("train --partition shards:0", "--partition num_shards_per_partition must be a whole number >= 1, got 0"),
    (
        "train --task quadratic --partition shards:2000",
        "--partition num_shards_per_partition must be at most 1000 (the examples), got 2000",
    ),
    ("train --task quadratic --clients 2000", "--clients must be at most 1000 (the examples), got 2000"),
    (
        "train --step-size nominel",
        "--step-size must be one of theorem, ... or package.module:Class, got nominel (did you mean nominal?)",
    ),
    (
        "train --task quadratic --step-size nominal -s power-of-choice",
        "--step-size must be one that looks at past rounds alone ... got nominal",
    ),
    ("compare --on x", "--on must be local or ray, got x"),
    ("compare --on ''", "--on must be local or ray, got ''"),
    ("compare -o name=a/b", "name must be at most 80 letters, digits, ... got 'a/b'"),
    ("compare -o name=''", "name must be at most 80 letters, digits, ... got ''"),
    (
        "compare -o fleet.clients=2000 -o learning.task=quadratic",
        "fleet.clients must be at most 1000 (the examples), got 2000",
    ),
    (
        "compare -o \"schedulers=['power-of-choice']\" -o learning.task=quadratic",
        "learning.step_size must be one that looks at past rounds alone ... got nominal",
    ),
    (
        "compare -o \"schedulers=['greedy','nowhere:Mine']\"",
        "schedulers[2] must be importable as package.module:Class, got nowhere:Mine (No module named 'nowhere')",
    ),
    (
        "compare -o \"schedulers=['bad_input_leaving:Mine']\"",
        "schedulers[1] must be importable as package.module:Class, got bad_input_leaving:Mine (SystemExit: 0)",
    ),
    ("compare -o schedulers=greedy", "schedulers must be a list of schedulers, at least one, got 'greedy'"),
    ('compare -o "arms=[{fleet={cost=0}}]"', "arms[1].fleet.cost must be a whole number in [1, 1073741823], got 0"),
    ("compare -o \"arms=[{label='../..'}]\"", "arms[1].label must have a letter or a digit in it, got '../..'"),
    (
        "compare -o \"arms=[{label='a'},{label='A'}]\"",
        "arms must have labels that differ in letters or digits, got a and A",
    ),
    (
        "compare -o evaluation.goal=3 -o learning.task=digits",
        "evaluation.goal must be a finite number in [0, 1], the bounds of accuracy, got 3",
    ),
    (
        "compare -o learning.partition=dirichlet:0.001 -o learning.task=quadratic",
        "learning.partition.alpha must be so large that at least 10 ... is reachable, got 0.001",
    ),
]

SPECS: list[Row] = [
    (
        "compare -o learning.partition=dirichlet:0.2 -o learning.task=quadratic -o seeds=2",
        "learning.partition.alpha must be so large ... got 0.2: 1000 draws of seed 1 failed",
    ),
    ("simulate -o fleet.rate=2", "fleet.rate must be in [0, 1], got 2"),
    ("simulate -o fleet.harvest.rate=2", "fleet.harvest.rate must be in [0, 1], got 2"),
    ('simulate -o "fleet={cost=0}"', "fleet.cost must be a whole number in [1, 1073741823], got 0"),
    ("simulate -o \"arms=[{scheduler='round-robin:0'}]\"", "arms[1].scheduler.per_round must be a whole number >= 1"),
    ("train -o scheduler=myopik", "scheduler must be one of myopic, ... got myopik (did you mean myopic?)"),
    ("train -s greedy -o scheduler=greedy", "--scheduler must be left out where -o scheduler is given, got greedy"),
    ("bound -o learning.local_steps=0", "learning.local_steps must be a whole number >= 1, got 0"),
    ("simulate -o seeds=x", "seeds must be how many (1 to 10,000) or a list of ... got 'x'"),
    ("simulate -o fleet.clients=1e3", "fleet.clients must be a whole number >= 1, got 1000.0"),
    ("simulate -o fleet.rate=2020-01-01", "fleet.rate must be a number, a list ... got datetime.date(2020, 1, 1)"),
    ("simulate -o \"arms=[{label='a', seeds=3}]\"", "arms[1].seeds must be left out: it is the same for all arms"),
    ('simulate -o "arms=[{x=3}]"', "arms[1].x is not a key of arms[1] (label, ... evaluation, flower)"),
    ("compare -o code=nowhere", "code must be a folder, got nowhere"),
    ("compare -o learning.partition.alpha=3", "learning.partition.alpha must be a parameter of iid, left out"),
    ("compare -o scheduler.target=99", "scheduler.target must be in [1, 10] (the clients), got 99"),
    ("compare -o target=none", "target must be auto or a whole number >= 1, got 'none'"),
    ("compare -o x", "override must be KEY=VALUE such as learning.local_steps=1, got x"),
    ("compare -o =3", "override must be KEY=VALUE such as learning.local_steps=1, got =3"),
    ("compare -o a..b=3", "override must be KEY=VALUE such as learning.local_steps=1, got a..b=3"),
    ("compare -o nosuch=3", "nosuch is not a key (name, seeds, ... )"),
    (
        "compare -o learning.local_step=1",
        "learning.local_step is not a key of learning (task, ... device) (did you mean local_steps?)",
    ),
    ("compare -o rounds=3 -o rounds=4", "rounds must be given once, got 4"),
    (
        'compare -o fleet.cost=2 -o "fleet={clients=3}"',
        "fleet must be given before fleet.cost, which it would undo, got {'clients': 3}",
    ),
    ("compare -o fleet=3", "fleet must be a table of keys, got 3"),
    ("compare -o fleet.clients.x=3", "fleet.clients must be a whole number >= 1, got {'x': 3}"),
    (
        "compare -o learning.task.a.b.c=3",
        "learning.task.a must be a parameter of digits, left out: it takes no parameters, got a",
    ),
    ("compare -o DEEP", "override must be KEY=VALUE such as learning.local_steps=1, got a.a.a."),
    ('compare -o "rounds=NESTED"', "rounds must be a whole number in [1, 10000000], got '[[[ ... [[[..."),
    (
        "simulate -o fleet.untis=mJ",
        "fleet.untis is not a key of fleet (clients, ... arrival) (did you mean unit?)",
    ),
    ("simulate -o fleet.unit=", "fleet.unit must be 1 to 20 printable characters, got ''"),
    ("train -o learning.clop=1", "learning.clop is not a key of learning (task, ... device) (did you mean clip?)"),
    ("train -o seeds=2", "ehfl train is for a single run, and these are 2: use ehfl compare"),
    (
        "train -o \"schedulers=['greedy','myopic']\"",
        "ehfl train is for a single run, and these are 2: use ehfl compare",
    ),
    (
        "compare absent.toml",
        "spec cannot be read: absent.toml must be a readable TOML file (No such file or directory)",
    ),
    ("compare ''", "SPEC must be the name of a file or folder, got ''"),
    ("compare torn", "spec cannot be read: torn must be a readable TOML file (Is a directory)"),
    ("compare binary.toml", "spec cannot be read: binary.toml is not TOML: 'utf-8' codec"),
    ("compare torn.toml", "spec cannot be read: torn.toml is not TOML: Invalid value (at end of document)"),
    ("compare deep.toml", "spec cannot be read: deep.toml is not TOML: maximum recursion depth exceeded"),
    (
        "compare twice.toml",
        "spec cannot be read: twice.toml is not TOML: Cannot overwrite a value (at line 2, column 11)",
    ),
    ("compare huge.toml", "spec cannot be read: huge.toml is not TOML: 1e400 does not fit into floating point"),
    ("compare bom.toml", "bom.toml: rounds must be a whole number in [1, 10000000], got 0"),
    ("compare empty.toml -o seeds=0", "empty.toml: seeds must be how many (1 to 10,000) or a list of ... got 0"),
    (
        "compare mine.toml -o learning.batch_siz=5",
        "mine.toml: learning.batch_siz is not a key of learning (task, ... device) (did you mean batch_size?)",
    ),
    ("compare fifo", "spec cannot be read: fifo must be a readable TOML file (It is a pipe or a device)"),
    (
        "simulate --rate fifo",
        "--rate must be a readable file of numbers, .npy or text, got fifo (It is a pipe or a device)",
    ),
    ("bound absent.toml", "spec cannot be read: absent.toml must be a readable TOML file (No such file or directory)"),
    (
        "bound mine.toml -o learning.batch_siz=5",
        "mine.toml: learning.batch_siz is not a key of learning (task, ... device) (did you mean batch_size?)",
    ),
]

PLACES: list[Row] = [
    ("simulate --figure ''", "--figure must be the name of a file or folder, got ''"),
    ("simulate --figure n.txt", "--figure must be a file name that ends in .png, .svg, .pdf, got n.txt"),
    ("simulate --figure nowhere/n.png", "--figure must be in a folder that exists, got nowhere/n.png"),
    ("simulate --figure torn.png", "--figure must be a file name, got torn.png, a folder"),
    ("simulate --save ''", "--save must be the name of a file or folder, got ''"),
    ("simulate --save words.txt", "--save must be a folder, got words.txt, a file"),
    ("simulate --save words.txt/deeper", "--save must be a folder, got words.txt/deeper, and words.txt is a file"),
    ("bound --figure n.gif", "--figure must be a file name that ends in .png, .svg, .pdf, got n.gif"),
    ("train --run ''", "--run must be the name of a file or folder, got ''"),
    ("train --run words.txt", "--run must be a folder, got words.txt, a file"),
    ("train --run words.txt/x", "--run must be a folder, got words.txt/x, and words.txt is a file"),
    ("train --run _x", "--run must be at most 80 letters, digits, ... got '_x'"),
    ("train --data ''", "--data must be the name of a file or folder, got ''"),
    ("train --task digits --data nowhere", "--data must be left out: digits takes none, got nowhere"),
    (
        "train --task cifar10 --data nowhere",
        "--data must be a folder with cifar-10-batches-bin ... or the archive itself, got nowhere",
    ),
    (
        "train --task cifar10 --data torn",
        "--data must be whole: a data_batch_1.bin of 30730000 bytes ... got one of 10 bytes, it is truncated",
    ),
    ("compare --runs ''", "--runs must be the name of a file or folder, got ''"),
    ("compare --runs words.txt", "--runs must be a folder, got words.txt, a file"),
    ("compare --data ''", "--data must be the name of a file or folder, got ''"),
    ("compare --data nowhere", "--data must be left out: digits takes none, got nowhere"),
    ("compare -o learning.data=nowhere", "learning.data must be left out: digits takes none, got nowhere"),
    (
        "compare -o learning.task=cifar10 --data nowhere",
        "--data must be a folder with cifar-10-batches-bin ... or the archive itself, got nowhere",
    ),
    (
        "compare -o learning.task=cifar10 -o learning.data=torn",
        "learning.data must be whole: a data_batch_1.bin of 30730000 bytes ... got one of 10 bytes, it is truncated",
    ),
    (
        "compare -o learning.task=cifar10 -o learning.data=''",
        "learning.data must be the name of a folder or an archive, got ''",
    ),
    (
        "compare -o learning.task=cifar10:network=large",
        "learning.task.network must be one of paper, small, got 'large'",
    ),
    (
        "compare -o \"learning.task={name='cifar10', data='torn'}\"",
        "learning.task.data must be whole: a data_batch_1.bin ... got one of 10 bytes, it is truncated",
    ),
    ("report ''", "RUN must be the name of a file or folder, got ''"),
    ("report absent", "RUN must be a folder that ehfl compare or ehfl train wrote, got absent"),
    ("report words.txt", "RUN must be a folder that ehfl compare or ehfl train wrote, got words.txt"),
    ("report .", ". is not a run folder: it has no spec.toml"),
    ("report . --out ''", "--out must be the name of a file or folder, got ''"),
    ("report . --out words.txt", "--out must be a folder, got words.txt, a file"),
]

FOLDERS: list[Row] = [
    ("compare mine.toml --runs taken", "taken/mine/figures must be a folder, for the report's figures, got a file"),
    ("report taken/mine", "taken/mine/figures must be a folder, for the report's figures, got a file"),
    ("report torn", "torn is not a run folder: it has no spec.toml"),
    ("report made", "made/spec.toml is damaged (it is cut off, or ... ehfl compare with the spec ... writes it anew"),
    ("compare made/spec.toml", "made/spec.toml is damaged (it is cut off, ... your own, needs a file of another name"),
    ("report made/greedy-s0", "made/greedy-s0 is not a run folder: it has no spec.toml"),
]
SIGNS: list[Row] = [
    (
        'simulate --rate "\x1b[31mred"',
        "--rate must be a number, a list or a file with one per client, ... got \\x1b[31mred (there is no such file)",
    ),
    ('simulate -s "\x1b[31mred"', "--scheduler must be one of myopic, ... or package.module:Class, got \\x1b[31mred"),
    ('simulate "\x1b[31mred"', "ehfl simulate must be given options alone, got \\x1b[31mred as well"),
    ('simulate "--\x1b[31mred"', "option must be one of --clients, ... --help, got --\\x1b[31mred"),
    (
        '"\x1b[31mred"',
        "command must be one of compare, report, simulate, plan, audit, bound, ... flower, got \\x1b[31mred",
    ),
    ('compare -o "\x1b[31mred=3"', "\\x1b[31mred is not a key (name, seeds, ... )"),
    ('compare -o "rounds=\x1b[31mred"', "rounds must be a whole number in [1, 10000000], got '\\x1b[31mred'"),
    (
        'compare "\x1b[31mred"',
        "spec cannot be read: \\x1b[31mred must be a readable TOML file (No such file or directory)",
    ),
    ('compare --on "\x1b[31mred"', "--on must be local or ray, got \\x1b[31mred"),
    ('report "\x1b[31mred"', "RUN must be a folder that ehfl compare or ehfl train wrote, got \\x1b[31mred"),
    ('simulate --figure "a\0b.png"', "--figure must be the name of a file or folder, got a\\x00b.png"),
    ("compare --runs 'bad\udcff'", "what is given must be text in UTF-8, got bad\\udcff"),
    ("report 'bad\udcff'", "what is given must be text in UTF-8, got bad\\udcff"),
    ("train --run 'bad\udcff'", "what is given must be text in UTF-8, got bad\\udcff"),
    ('compare "a\0b"', "SPEC must be the name of a file or folder, got a\\x00b"),
    (
        'simulate --rate "a\0b"',
        "--rate must be a number, a list or a file with one per client, ... got a\\x00b (there is no such file)",
    ),
    ('simulate -s "a\u202eb"', "--scheduler must be one of myopic, ... or package.module:Class, got a\\u202eb"),
    ("simulate --rounds LONG", "--rounds must be a whole number in [1, 10000000], got 'xxx ... xxx..."),
    ("simulate -s LONG", "--scheduler must be one of myopic, ... or package.module:Class, got xxx ... xxx..."),
    ("simulate LONG", "ehfl simulate must be given options alone, got xxx ... xxx... as well"),
    ("simulate --LONG", "option must be one of --clients, ... --help, got --xxx ... xxx..."),
    ("compare LONG", "SPEC must be the name of a file or folder, got xxx ... xxx... (File name too long)"),
    ("report LONG", "RUN must be the name of a file or folder, got xxx ... xxx... (File name too long)"),
    ("compare -o LONG", "override must be KEY=VALUE such as learning.local_steps=1, got xxx ... xxx..."),
    ("compare -o LONG=3", "xxx ... xxx... is not a key (name, seeds, ... )"),
    ("compare -o name=LONG", "name must be at most 80 letters, digits, ... got 'xxx ... xxx..."),
    ("compare -o rounds=LONG", "rounds must be a whole number in [1, 10000000], got 'xxx ... xxx..."),
    (
        "simulate --figure LONG.png",
        "--figure must be the name of a file or folder, got xxx ... xxx... (File name too long)",
    ),
    ("simulate --save LONG", "--save must be the name of a file or folder, got xxx ... xxx... (File name too long)"),
    ("simulate --rate LONG", "--rate must be a number, a list or a file with one per client, ... got xxx ... xxx..."),
    ("train --run LONG", "--run must be the name of a file or folder, got xxx ... xxx... (File name too long)"),
    (
        "compare -o \"arms=[{label='LONG'}]\"",
        "arms[1].label must be at most 80 printable characters without $, [, ] and \\, got 'xxx ... xxx...",
    ),
]
MANY = {"LONG": "x" * 5000, "DEEP": "a." * 5000 + "a=3", "NESTED": "[" * 5000 + "]" * 5000}
FILES: dict[str, str | bytes] = {
    "negative.csv": "time,roof\n0,1\n60,-3\n",
    "gap.csv": "time,roof\n0,1\n60,1\n120,1\n900,1\n",
    "zones.csv": "time,roof\n2026-03-29T01:00:00+01:00,1\n2026-03-29T03:00:00+02:00,1\n",
    "roof.csv": "time,roof\n" + "".join(f"{60 * k},{k % 3}\n" for k in range(60)),
    "dark.csv": "time,roof\n" + "".join(f"{60 * k},0\n" for k in range(60)),
    "words.txt": "half\n",
    "empty.toml": "",
    "binary.toml": bytes(range(256)),
    "bom.toml": b"\xef\xbb\xbfrounds = 0\n",
    "torn.toml": "rounds = [1,\n",
    "huge.toml": "fleet.capacity = 1e400\n",
    "twice.toml": "rounds = 1\nrounds = 2\n",
    "deep.toml": f"rounds = {MANY['NESTED']}",
    "mine.toml": "rounds = 5\nseeds = 1\nlearning.task = 'quadratic'\n",
    "arms.toml": "[[arms]]\nlabel='a'\n[[arms]]\nlabel='b'\nlearning.local_steps=9\n",
    "rounds.toml": "[[arms]]\nscheduler='greedy'\nrounds=9",
    "always-on.toml": "[[arms]]\nlabel='always-on'\nscheduler='greedy'",
    "bad_input_mine.py": "class Mine:\n    def select(self, view):\n        return []\n",
    "bad_input_moving.py": "import numpy\nRNG = numpy.random.default_rng(0)\nclass Sun:\n"
    "    def units(self, seed, rounds, clients):\n        return RNG.integers(0, 2, (len(rounds), len(clients)))\n"
    "    def mean_rates(self, n_clients):\n        return numpy.full(n_clients, 0.5)\n",
    "bad_input_leaving.py": "raise SystemExit(0)\n",
    "bad_input_classes.py": "from ehfl.learning.tasks.digits import Digits\nclass Nine(Digits):\n"
    "    classes = tuple('012345678')\nclass Eleven(Digits):\n    classes = tuple('0123456789X')\n",
    "taken/mine/figures": "",
    "made/spec.toml": "rounds = 5\n",
    "made/greedy-s0/meta.json": "{}",
    **{f"torn/{name}": b"\0" * 10 for name in (*TRAINING, *TEST)},
}
# In a folder that holds finished runs, `done` of digits and `plain` of a task without classes.
RUNS: list[Row] = [
    ("report done --goal 3", "--goal must be a finite number in [0, 1], the bounds of accuracy, got 3"),
    ("report done --goal nan", "--goal must be a finite number, got nan"),
    ("report plain --classes", "--classes must be left out: no run has classes"),
    ("report done done/spec.toml", "RUN must be a folder that ehfl compare or ehfl train wrote, got done/spec.toml"),
    ("report done --out done/spec.toml", "--out must be a folder, got done/spec.toml, a file"),
    (
        "report done --out done/spec.toml/x",
        "--out must be a folder, got done/spec.toml/x, and done/spec.toml is a file",
    ),
    (
        "train --rounds 1 --clients 2 --aggregation mifa --run done",  # and no note on memory before it
        "done belongs to another run (seeds is [7] there and [0] here",
    ),
    ("compare --runs . -o name=done -o rounds=1", "done is the folder of a single run, not of a comparison: give this"),
]
COMMAND = typer.main.get_command(application.app)  # made once: Typer would make it anew for every row


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bad")
    for name in ("torn", "torn.png"):
        (place / name).mkdir()
    os.mkfifo(place / "fifo")
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(application, "app", COMMAND)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def check_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))

    with pytest.raises(SystemExit) as stop:
        main(words)

    shown = capsys.readouterr()
    assert (stop.value.code, shown.out) == (2, "")
    assert shown.err.startswith("ehfl: error: ") and shown.err.endswith("\n") and shown.err.count("\n") == 1
    assert shown.err[:-1].isprintable() and len(shown.err) < 700
    at = 0
    for part in message.split(" ... "):
        at = shown.err.find(part, at)
        assert at >= 0, f"{part!r} is not in {shown.err!r}"
    assert sorted(Path().rglob("*")) == before


@pytest.fixture(scope="module")
def after_a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("done")
    for name, task in (("done", "digits"), ("plain", "quadratic")):
        command = f"train --task {task} --rounds 1 --clients 2 --seed 7 --run {place}/{name} --batch-size 2 -k 1"
        with pytest.raises(SystemExit, match="0"):
            main(shlex.split(command))
    return place


@pytest.mark.parametrize(("line", "message"), RUNS, ids=[line for line, _ in RUNS])
def test_so_it_is_where_there_is_a_run(
    line: str, message: str, after_a_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(after_a_run)
    capsys.readouterr()  # what the run itself showed

    check_refused(shlex.split(line), message, capsys)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report done", "RUN must be a folder that can be written to, got done"),
        ("report done --out there/deeper", "--out must be a folder that can be written to, got there/deeper"),
        ("simulate --save there", "--save must be a folder that can be written to, got there"),
        ("simulate --figure n.png", "--figure must be in a folder that can be written to, got n.png"),
        ("train --run there", "--run must be a folder that can be written to, got there"),
        ("compare --runs there", "--runs must be a folder that can be written to, got there"),
    ],
)
def test_a_folder_that_cannot_be_written_to_is_called_as_it_was_given(
    line: str, message: str, after_a_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(after_a_run)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root, as in containers, may write everywhere

    check_refused(shlex.split(line), message, capsys)


FLOWER: list[Row] = [
    ("flower nosuch", "command must be one of ... got nosuch"),
    ("flower --nosuch", "option must be one of --help, got --nosuch"),
    ("flower up mine.toml two.toml", "ehfl flower up must be given one SPEC at most, got two.toml as well"),
    ("flower app", "DIR must be given, got nothing"),
    ("flower app a mine.toml c", "ehfl flower app must be given one DIR and one SPEC at most, got c as well"),
    ("flower up --nodes 3 --nodes 4", "--nodes must be given once, got 2 of it"),
    ("flower up --nodes 0", "--nodes must be a whole number in [1, 1000], got 0"),
    ("flower up --nodes many", "--nodes must be a whole number in [1, 1000], got 'many'"),
    (
        "flower up -o fleet.clients=4000 -o learning.step_size=0.1",
        "fleet.clients must be small enough for the memory ... got 4000",
    ),
    ("flower up --nodes 3 -o fleet.clients=4", "--nodes must be left out where -o fleet.clients is given, got 3"),
    ("flower up --nodes 3 -o fleet.rate=[0.1,0.9]", "fleet.rate must be one number or one per client (3), got a list"),
    ("flower up --nodes 3 -o target=5", "target must be auto or in [1, 3] (the clients), got 5"),
    (
        "flower up --nodes 3 -o learning.step_size=0.1 -o \"arms=[{label='a',scheduler='greedy','fleet.clients'=4}]\"",
        "--nodes must be 4, as a itself says, got 3",
    ),
    ("flower up --arm mypoic", "--arm must be one of myopic, round-robin, greedy, always-on, got mypoic"),
    ("flower up --seed -1", "--seed must be a whole number >= 0, got -1"),
    ("flower up --seed x", "--seed must be a whole number >= 0, got 'x'"),
    (
        "flower up",
        "learning.step_size must be one that looks at past rounds alone, such as nominal-causal, ... got nominal",
    ),
    ("flower app new", "learning.step_size must be one that looks at past rounds alone"),
    ("flower up nosuch.toml", "spec cannot be read: nosuch.toml must be a readable TOML file (No such file"),
    ("flower up --runs mine.toml", "--runs must be a folder, got mine.toml, a file"),
    ("flower up --data nosuch -o learning.data=torn", "--data must be given once, got nosuch"),
    ("flower app mine.toml", "DIR must be a folder, got mine.toml, a file"),
    (
        "flower app . -o learning.step_size=0.1",
        "DIR must be empty, or an app that ehfl wrote and nobody changed, got .",
    ),
    (
        f"flower app new -o learning.step_size=0.1 -o name={'n' * 74}",
        "name must be at most 73 characters on Flower, which adds some, got nnn",
    ),
    (
        f"flower app new -o learning.step_size=0.1 -o \"arms=[{{label='{'n' * 75}'}}]\"",
        "arms[1].label must be at most 80 printable characters",
    ),
]

HARVESTS: list[Row] = [
    ("harvest ft", "command must be one of fit, show, got ft (did you mean fit?)"),
    ("harvest fit", "TRACE must be given, got nothing"),
    (
        "harvest fit absent.csv",
        "TRACE must be a readable trace, CSV or Parquet, got absent.csv (No such file or directory)",
    ),
    ("harvest fit mine.toml", "TRACE must be a trace with a heading that names a column time ... got mine.toml with"),
    ("harvest fit negative.csv", "TRACE must be a trace of powers ... got -3 for roof in line 3 of negative.csv"),
    ("harvest fit gap.csv", "TRACE must be a trace without gaps ... got 780 s from 120 to 900 in line 5 of gap.csv"),
    ("harvest fit zones.csv", "TRACE must be a trace whose times have one time zone"),
    ("harvest fit dark.csv --round 1min", "TRACE must be a trace with some power in it, got dark.csv with none"),
    (
        "harvest fit roof.csv",
        "--round must be so short that the trace, which lasts 1 h, has 20 rounds or more, got 1 h (1)",
    ),
    ("harvest fit roof.csv --round 1us", "--round must be a number [s], or a text with a unit (s, ... got 1us"),
    ("harvest fit roof.csv --round 0", "--round must be above 0, got 0"),
    ("harvest fit roof.csv --round inf", "--round must be above 0, got inf"),
    (
        "harvest fit roof.csv --round 1e-4",
        "--round must be so long that the trace, ... has 10,000,000 rounds at most, got",
    ),
    ("harvest fit roof.csv --unit 2h", "--unit must be a number [J], or a text with a unit (J, mJ, kJ, Wh) ... got 2h"),
    ("harvest fit roof.csv --unit -1", "--unit must be above 0, got -1"),
    ("harvest fit roof.csv --watts 0", "--watts must be above 0, got 0.0"),
    ("harvest fit roof.csv --watts nan", "--watts must be in [0, 1e+12], got nan"),
    ("harvest fit roof.csv --watts many", "--watts must be a number, got many"),
    ("harvest fit roof.csv --column wall", "--column must be of roof, got wall"),
    ("harvest fit roof.csv --format amps", "--format must be auto, power or voltage, got 'amps'"),
    ("harvest fit roof.csv --format voltage", "--ohms must be given with format voltage: P = V^2 / ohms, got nothing"),
    (
        "harvest fit roof.csv --ohms 5",
        "--ohms must be left out: the file holds power, unless format is voltage, got 5.0",
    ),
    (
        "harvest fit roof.csv --figure fit.txt",
        "--figure must be a file name that ends in .png, .svg, .pdf, got fit.txt",
    ),
    ("harvest show", "WHAT must be given, got nothing"),
    ("harvest show bernouli:0.5", "WHAT must be ... got bernouli:0.5 (No module named 'bernouli')"),
    ("harvest show bernoulli:2", "WHAT rate must be in [0, 1], got 2"),
    ("harvest show absent.toml", "spec cannot be read: absent.toml must be a readable TOML file"),
    ("harvest show mine.toml --clients 3", "--clients must be left out with a spec, which has it: ... got 3"),
    ("harvest show bernoulli:0.5 -o rounds=3", "--override must be left out without a spec, got rounds=3"),
    ("harvest show bernoulli:0.5 --clients 0", "--clients must be a whole number in [1, 10000000], got 0"),
    ("harvest show bernoulli:0.5 --round soon", "--round must be a number [s], or a text with a unit ... got soon"),
    ("harvest show bernoulli:0.5 --seed -1", "--seed must be a whole number in [0, 18446744073709551615], got -1"),
    ("harvest show bernoulli:[0.1,0.2]", "WHAT rate must be one number or one per client (10), got a list of 2"),
    ("harvest show bad_input_moving:Sun", "Sun breaks the rules"),
    ("harvest show 'replay:[[1, 0]]' --clients 3", "WHAT arrivals must be one column per client (3), got 2 columns"),
    ("harvest show trace:file=roof.csv,assign=each", "WHAT assign must be cycle, or there must be a column for each"),
]
ROWS = [*HARVESTS, *THE_LINE, *DEVICES, *NUMBERS, *NAMES, *SPECS, *PLACES, *FOLDERS, *SIGNS, *FLOWER]


@pytest.mark.parametrize(("line", "message"), ROWS, ids=[line for line, _ in ROWS])
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    line: str, message: str, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line)
    for short, long in MANY.items():
        words = [word.replace(short, long) for word in words]
    check_refused(words, message, capsys)
