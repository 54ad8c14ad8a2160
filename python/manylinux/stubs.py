"""Makes stand-ins for the C and C++ libraries of an older system, for the linker alone:

    stubs.py FOLDER --compiler g++ --pic libstdc++_pic.a

A program that is linked on a new system needs the newest version of each symbol, and therefore does not start on an older
system. A program that is linked with `-L FOLDER` needs no version beyond the limits of manylinux_2_28. The folder holds:

* libc.so.6, libm.so.6, libpthread.so.0, libdl.so.2, librt.so.1, libgcc_s.so.1 and libstdc++.so.6 without code. They have
  the symbols and versions that these libraries had within the limits. Before glibc 2.34, threads, dlopen() and timers
  were in separate libraries.
* libcompat.a, from compat.c: the few functions of the C library that are newer than the limits.
* libc.so, libstdc++.so and others: linker scripts that combine these libraries. If the old libstdc++ lacks a symbol, it
  comes from libstdc++_pic.a, the archive of the new libstdc++.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIBRT = re.compile(r"(aio_|lio_|mq_|shm_|timer_)")
LIBUTIL = {"forkpty", "login", "login_tty", "logout", "logwtmp", "openpty"}


WHOLE = ("libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")  # libraries whose symbols have not moved to other libraries


def number(version):
    return tuple(map(int, version.split(".")))


LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}


def symbols_of(library):
    """Yields (name, version, is default, kind, size) of each symbol that the library defines."""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit() or fields[6] == "UND" or "@" not in fields[7]:
            continue
        name, version = re.fullmatch(r"([^@]+)@+(.+)", fields[7]).groups()
        yield name, version, "@@" in fields[7], fields[3], int(fields[2], 0)


def allowed(version):
    family, _, rest = version.rpartition("_")
    if family in LIMITS and re.fullmatch(r"[\d.]+", rest):
        return number(rest) <= LIMITS[family]
    return family == "CXXABI" and version in ("CXXABI_TM_1", "CXXABI_FLOAT128")


def as_of_then(library):
    """Maps the name of each symbol to (version, kind, size, moved). The version is the newest version within the
    limits. `moved` is true if the symbol came into this library later, from a separate library."""
    chosen, newest = {}, {}
    for name, version, default, kind, size in symbols_of(library):
        if kind not in ("FUNC", "IFUNC", "OBJECT", "NOTYPE") or size == 0 and kind == "OBJECT":
            continue
        if default:
            newest[name] = version
        if not allowed(version):
            continue
        rank = number(version.rpartition("_")[2]) if version[-1].isdigit() and "." in version else (0,)
        if name not in chosen or rank > chosen[name][0]:
            chosen[name] = (rank, version, kind, size)
    return {name: (version, kind, size, not allowed(newest.get(name, version)))
            for name, (_, version, kind, size) in chosen.items()}  # fmt: skip


def home_of(name, moved):
    """Returns the library that had a symbol of the present libc.so.6 before glibc 2.34."""
    if not moved:
        return "libc.so.6"
    if name.startswith("dl"):
        return "libdl.so.2"
    if LIBRT.match(name):
        return "librt.so.1"
    if name in LIBUTIL:
        return "libutil.so.1"
    return "libpthread.so.0" if name.startswith(("pthread_", "sem_", "__pthread_", "_pthread_")) else "libc.so.6"


def write_stub(folder, soname, symbols, compiler):
    versions, lines = {}, ['.section .note.GNU-stack,"",%progbits']
    for name, (version, kind, size, _) in sorted(symbols.items()):
        versions.setdefault(version, []).append(name)
        section, type_ = (".bss", "object") if kind == "OBJECT" else (".text", "function")
        lines += [f"{section}", f".globl {name}", f".type {name}, %{type_}", f"{name}:", f".skip {max(size, 8)}" if kind == "OBJECT" else ".skip 8",
                  f".size {name}, {max(size, 1)}"]  # fmt: skip
    source, script = folder / f"{soname}.s", folder / f"{soname}.map"
    source.write_text("\n".join(lines) + "\n")
    script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items())
                      + "GRADUS_HIDDEN { local: *; };\n")  # fmt: skip
    subprocess.run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}", "-o", folder / soname, source],
                   check=True)  # fmt: skip
    source.unlink()
    script.unlink()


def found(compiler, name):
    path = subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(path):
        sys.exit(f"stubs.py: {compiler} knows no {name}")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--pic", required=True, help="libstdc++_pic.a of the compiler")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    libraries = {}
    for name, (version, kind, size, moved) in as_of_then(found(arguments.compiler, "libc.so.6")).items():
        libraries.setdefault(home_of(name, moved), {})[name] = (version, kind, size, moved)
    for soname in WHOLE:
        libraries[soname] = as_of_then(found(arguments.compiler, soname))
    for soname, symbols in libraries.items():
        write_stub(folder, soname, symbols, arguments.compiler)

    compat = folder / "compat.o"
    subprocess.run([arguments.compiler, "-x", "c", "-O2", "-fPIC", "-fvisibility=hidden", "-c", HERE / "compat.c", "-o", compat], check=True)
    archive = folder / "libcompat.a"
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", archive, compat], check=True)  # `ar` can make archives for any ELF machine
    compat.unlink()

    loader = next(name for name in ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1") if os.path.isabs(
        subprocess.run([arguments.compiler, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()))  # fmt: skip
    others = " ".join(str(folder / soname) for soname in libraries if soname not in ("libc.so.6", *WHOLE))
    scripts = {
        "libc": f"GROUP ( {folder}/libc.so.6 {archive} {found(arguments.compiler, 'libc_nonshared.a')} AS_NEEDED ( {others} {found(arguments.compiler, loader)} ) )",
        "libm": f"INPUT ( {folder}/libm.so.6 )",
        # On 64-bit Arm, libgcc.a has the atomic functions that compiled code calls.
        "libgcc_s": f"GROUP ( {folder}/libgcc_s.so.1 -lgcc )",
        "libstdc++": f"GROUP ( {folder}/libstdc++.so.6 {Path(arguments.pic).resolve()} )",
    }
    for name in ("pthread", "dl", "rt"):
        scripts[f"lib{name}"] = f"GROUP ( AS_NEEDED ( {others} ) )"
    for name, text in scripts.items():
        (folder / f"{name}.so").write_text(text + "\n")


if __name__ == "__main__":
    main()
