//! Installs the Debian package into a new Debian system, verifies its systemd unit and starts its server.

use std::{path::Path, process::Command};

use crate::{Result, tools, tools::say};

/// Release of Debian to install into.
const SUITE: &str = "bookworm";

/// Packages of the new system: systemd verifies the unit.
const PACKAGES: &str = "systemd,ca-certificates";

/// Upper limit of the exposure that systemd computes for the unit, from 0 to 100.
const MAX_EXPOSURE: &str = "20";

/// Commands in the new system.
const CHECKS: &str = r#"
dpkg -i /tmp/tidemark.deb
[ "$(stat -c %U:%a /var/lib/tidemark)" = tidemark:750 ]
[ "$(stat -c %U:%G:%a /etc/tidemark/tidemark.toml)" = root:tidemark:640 ]
dpkg-query -W -f='${Conffiles}' tidemark | grep -q /etc/tidemark/tidemark.toml
dpkg-query -L tidemark | grep -q /usr/share/man/man1/tidemark-serve.1
systemd-analyze verify --man=no tidemark.service
systemd-analyze security --offline=true --threshold=MAX_EXPOSURE --no-pager tidemark.service >/tmp/exposure
tail -n 1 /tmp/exposure
as="setpriv --reuid=tidemark --regid=tidemark --clear-groups env HOME=/tmp/home"
install -d -o tidemark /tmp/home
cd /tmp/home
printf '%s' 'RESULTS' >results.json
$as tidemark run "cat results.json" | grep inconclusive
$as tidemark serve --config /etc/tidemark/tidemark.toml --bind 127.0.0.1:PORT 2>/tmp/log &
server=$!
$as tidemark server version --host http://127.0.0.1:PORT --attempts 10 || { cat /tmp/log; exit 1; }
[ -f /var/lib/tidemark/tidemark.db ]
kill $server
wait $server
dpkg --remove tidemark
[ -f /etc/tidemark/tidemark.toml ]
dpkg --purge tidemark
[ ! -e /etc/tidemark/tidemark.toml ]
[ -f /var/lib/tidemark/tidemark.db ]
"#;

/// Checks a package.
pub(super) fn check(package: &Path) -> Result {
    let script = CHECKS
        .replace("MAX_EXPOSURE", MAX_EXPOSURE)
        .replace("RESULTS", super::RESULTS)
        .replace("PORT", &tools::free_port()?.to_string());
    say(&format!("Installing the package into a new Debian {SUITE}."));
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=apt"]).arg(format!("--include={PACKAGES}"));
    command.arg(format!("--customize-hook=upload {} /tmp/tidemark.deb", package.display()));
    // The script is a variable, because a hook is an argument of a shell.
    command
        .arg("--customize-hook=chroot \"$1\" sh -eux -c \"$TIDEMARK_CHECKS\"")
        .env("TIDEMARK_CHECKS", script);
    command.args([SUITE, "/dev/null"]);
    tools::run_within(tools::HANG, &mut command)
}
