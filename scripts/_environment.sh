# What the scripts share: the .venv, Debian packages, one-line errors. Sourced, never run.
# Must never know: what the tests or the command line do.

set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
PYTHON_MINOR_MIN=11

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "${0##*/}: $*"
    exit 1
}

# Prints the comment block at the top of a script; that block is its help.
print_help() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$1"; }

is_recent_python() {
    "$1" -c "import sys; sys.exit(sys.version_info < (3, $PYTHON_MINOR_MIN))" 2>/dev/null
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
        if is_recent_python "$name"; then
            command -v "$name"
            return
        fi
    done
    fail "no Python 3.$PYTHON_MINOR_MIN or newer found; install one, or name it with PYTHON=/path/to/python3"
}

can_apt() { [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; }

# apt_install PACKAGE...: succeeds only when apt really installed them.
apt_install() {
    can_apt || return 1
    say "installing Debian packages: $*"
    local log
    log="$(mktemp)"
    if apt-get update -qq >"$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; then
        rm -f "$log"
        return
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
}

make_venv() {
    local python
    if command -v uv >/dev/null; then
        uv venv --quiet --python ">=3.$PYTHON_MINOR_MIN" "$VENV"
        return
    fi
    python="$(find_python)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        apt_install python3-venv ||
            fail "Python's venv module is missing; install it with: apt-get install python3-venv"
    fi
    "$python" -m venv "$VENV"
}

# install_project EXTRAS: an editable install of this checkout with the named extras.
install_project() {
    local installer=("$VENV/bin/python" -m pip install --quiet --disable-pip-version-check)
    if command -v uv >/dev/null; then
        installer=(uv pip install --quiet --python "$VENV/bin/python")
    fi
    "${installer[@]}" --editable "$ROOT[$1]"
}

# ensure_environment EXTRAS: makes .venv and installs the project, once for each state of
# pyproject.toml. Two scripts at once are fine: the second one waits.
ensure_environment() {
    local extras="$1" stamp wanted
    stamp="$VENV/.installed-${extras//,/-}"
    wanted="$(sha256sum <"$ROOT/pyproject.toml")$ROOT"
    [[ "$(cat "$stamp" 2>/dev/null)" == "$wanted" ]] && return
    exec 9<"$ROOT/pyproject.toml"
    flock 9
    if [[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]]; then
        say "preparing .venv (first use, or pyproject.toml has changed) ..."
        is_recent_python "$VENV/bin/python" || make_venv
        install_project "$extras" || fail "the packages could not be installed; see the lines above"
        printf '%s\n' "$wanted" >"$stamp"
    fi
    exec 9<&-
}
