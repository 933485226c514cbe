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

# PYTHON is looked at even when .venv is there already: a wrong one must not pass unseen.
require_named_python() {
    [[ -z "${PYTHON:-}" ]] || is_recent_python "$PYTHON" ||
        fail "PYTHON=$PYTHON is no Python 3.$PYTHON_MINOR_MIN or newer"
}

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

# A Python alone is no proof: Ctrl-C may have come before pip was there. One of the stamps is, and so
# is a pip that works, in an environment that somebody else has made.
is_whole_venv() {
    is_recent_python "$VENV/bin/python" || return 1
    [[ -e "$VENV/.made" ]] || compgen -G "$VENV/.installed-*" >/dev/null ||
        "$VENV/bin/python" -m pip --version >/dev/null 2>&1
}

make_venv() {
    rm -rf "$VENV"
    new_venv || fail "cannot make .venv; see the lines above, then delete .venv and try again"
    touch "$VENV/.made"
}

new_venv() {
    local python
    if command -v uv >/dev/null; then
        uv venv --quiet --python "${PYTHON:->=3.$PYTHON_MINOR_MIN}" "$VENV"
        return
    fi
    python="$(find_python)" || exit 1
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

stamp_of() { printf '%s\n' "$VENV/.installed-${1//,/-}"; }

wanted_stamp() { printf '%s\n' "$(sha256sum <"$ROOT/pyproject.toml")$ROOT"; }

# is_ready EXTRAS: whether nothing has to be installed.
is_ready() {
    [[ -x "$VENV/bin/python" && "$(cat "$(stamp_of "$1")" 2>/dev/null)" == "$(wanted_stamp)" ]]
}

# ensure_environment EXTRAS: makes .venv and installs the project, once for each state of
# pyproject.toml. Two scripts at once are fine: the second one waits.
ensure_environment() {
    require_named_python
    is_ready "$1" && return
    exec 9<"$ROOT/pyproject.toml"
    flock 9
    if ! is_ready "$1"; then
        say "preparing .venv (first use, or pyproject.toml has changed) ..."
        is_whole_venv || make_venv
        install_project "$1" ||
            fail "the packages could not be installed; see the lines above, then delete .venv and try again"
        wanted_stamp >"$(stamp_of "$1")"
    fi
    exec 9<&-
}
