//! Machines that do not support the whole lock-down of workers.
//!
//! A filter on system calls makes such a machine: it is put on one thread, and all processes that
//! this thread starts inherit it.

use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::support::{Command, TestServer};

/// Runs `act` on a thread for which the kernel refuses a system call with `errno`.
fn without<T: Send>(call: libc::c_long, errno: i32, act: impl FnOnce() -> T + Send) -> T {
    let refuse = || {
        let refusal = SeccompAction::Errno(errno.unsigned_abs());
        let processor = std::env::consts::ARCH.try_into().unwrap();
        let rules = [(call, Vec::new())].into();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, processor).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        seccompiler::apply_filter(&program).unwrap();
    };
    thread::scope(|scope| {
        let acting = scope.spawn(|| {
            refuse();
            act()
        });
        acting.join().unwrap()
    })
}

fn without_landlock<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    without(libc::SYS_landlock_create_ruleset, libc::ENOSYS, act)
}

#[test]
fn where_a_wall_is_missing_the_server_warns_and_goes_on() {
    without_landlock(|| {
        let server = TestServer::start(&[]);
        let line = server.wait_for_log("without a wall");
        assert!(line.contains("WARN") && line.contains("landlock"), "{line}");
        assert_eq!(server.log().matches("without a wall").count(), 1, "{}", server.log());
        let client = server.client();
        let ready = client.get("/readyz");
        assert_eq!(ready.status, 200);
        let warnings = ready.json()["warnings"].to_string();
        assert!(warnings.contains("landlock"), "{warnings}");
        let result = client.run("def main(args): return 1");
        assert_eq!(result["status"], "completed", "{result}");
    });
}

#[test]
fn where_all_walls_are_required_and_one_is_missing_nothing_starts() {
    let place = Command::new();
    without_landlock(|| {
        for arguments in [
            &["serve", "--listen", "127.0.0.1:0", "--require-lockdown"][..],
            &["serve", "--listen", "127.0.0.1:0", "--set", "workers.require_lockdown=true"],
            &["serve", "--listen", "0.0.0.0:0", "--set", "auth.mode=proxy"],
            &["serve", "--listen", "127.0.0.1:0", "--set", "auth.mode=keys"],
            &["serve", "--listen", "[::ffff:127.0.0.1]:0", "--require-lockdown=auto"],
            &["run", "-c", "print(1)", "--set", "workers.require_lockdown=true"],
        ] {
            let ended = place.run(arguments).with(3);
            assert!(ended.stderr.contains("`landlock` is missing"), "{}", ended.stderr);
            assert_eq!(ended.stdout, "", "{arguments:?}");
        }
    });
    let server = TestServer::start(&["--require-lockdown"]);
    assert!(server.client().get("/readyz").json().get("warnings").is_none());
    assert!(!server.log().contains("without a wall"), "{}", server.log());
}

#[test]
fn without_a_filter_on_system_calls_nothing_runs_whatever_is_set() {
    let place = Command::new();
    // The filter of the test itself is there before `seccomp` is refused.
    without(libc::SYS_seccomp, libc::EINVAL, || {
        let run = ["run", "-c", "print(1)", "--set", "workers.require_lockdown=false"];
        let ended = place.run(&run).with(3);
        assert!(ended.stderr.contains("`seccomp` is missing"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    });
}

#[test]
fn the_doctor_and_a_local_run_say_which_wall_is_missing() {
    let place = Command::new();
    without_landlock(|| {
        let run = place.run(&["run", "-c", "print(1)"]).with(0);
        assert_eq!(run.stdout, "1\n");
        assert!(run.stderr.contains("landlock"), "{}", run.stderr);
        for (more, state, code) in [("false", "degraded", 0), ("true", "bad", 3)] {
            let setting = format!("workers.require_lockdown={more}");
            let told = place.run(&["doctor", "--json", "--set", &setting]).with(code).json();
            let all = told.as_array().unwrap();
            let wall = all.iter().find(|one| one["what"] == "lock-down").unwrap();
            assert_eq!(wall["state"], state, "{wall}");
            assert!(wall["says"].as_str().unwrap().contains("landlock"), "{wall}");
            assert!(wall["advice"].as_str().unwrap().contains("lockdown"), "{wall}");
        }
    });
}

#[test]
fn guests_never_run_as_root_whatever_walls_are_required() {
    let place = Command::new();
    let run = ["run", "-c", "print('ran')", "--set", "workers.require_lockdown=false"];
    let ended = without(libc::SYS_setresuid, libc::EPERM, || place.run(&run));
    if rustix::process::geteuid().is_root() {
        let ended = ended.with(3);
        assert!(ended.stderr.contains("must not run guests as root"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    } else {
        // There is nothing to give up.
        assert_eq!(ended.with(0).stdout, "ran\n");
    }
}
