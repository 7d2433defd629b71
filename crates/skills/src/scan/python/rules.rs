//! Names of Python's library and of packages, by what they do.

use crate::scan::python::known::Marks;

/// Packages whose import says that a program uses the network.
pub(crate) const NETWORK_MODULES: [&str; 22] = [
    "requests",
    "urllib.request",
    "urllib3",
    "http.client",
    "httpx",
    "aiohttp",
    "socket",
    "websocket",
    "websockets",
    "ftplib",
    "smtplib",
    "telnetlib",
    "paramiko",
    "socketserver",
    "http.server",
    "pycurl",
    "boto3",
    "dns",
    "imaplib",
    "xmlrpc.client",
    "grpc",
    "treq",
];

/// Functions that fetch something: the end of their dotted name.
const FETCHES: [&str; 14] = [
    "urlopen",
    "urlretrieve",
    "recv",
    "recvfrom",
    "getresponse",
    "get",
    "post",
    "put",
    "request",
    "patch",
    "retrbinary",
    "download",
    "stream",
    "fetch",
];

/// Functions that send something: the end of their dotted name.
const SENDS: [&str; 21] = [
    "post",
    "put",
    "patch",
    "request",
    "get",
    "urlopen",
    "Request",
    "send",
    "sendall",
    "sendto",
    "sendmail",
    "send_message",
    "storbinary",
    "upload_file",
    "put_object",
    "urlretrieve",
    "head",
    "connect",
    "create_connection",
    "getaddrinfo",
    "gethostbyname",
];

/// Functions that decode or unpack: the whole dotted name.
const DECODERS: [&str; 26] = [
    "base64.b64decode",
    "base64.urlsafe_b64decode",
    "base64.standard_b64decode",
    "base64.b32decode",
    "base64.b16decode",
    "base64.a85decode",
    "base64.b85decode",
    "base64.decodebytes",
    "base64.z85decode",
    "binascii.unhexlify",
    "binascii.a2b_base64",
    "binascii.a2b_hex",
    "bytes.fromhex",
    "bytearray.fromhex",
    "zlib.decompress",
    "gzip.decompress",
    "bz2.decompress",
    "lzma.decompress",
    "codecs.decode",
    "marshal.loads",
    "zlib.decompressobj().decompress",
    "chr",
    "bytes",
    "bytearray",
    "cryptography.fernet.Fernet().decrypt",
    "int.to_bytes",
];

/// Functions that execute text as Python: the whole dotted name.
const EXECUTORS: [&str; 12] = [
    "exec",
    "eval",
    "types.FunctionType",
    "code.InteractiveInterpreter().runsource",
    "runpy.run_path",
    "code.InteractiveConsole().push",
    "timeit.timeit",
    "exec_module",
    "builtins.exec",
    "builtins.eval",
    "cProfile.run",
    "importlib.util.spec_from_loader",
];

/// Functions that start programs: the beginning of their dotted name.
const PROCESSES: [&str; 12] = [
    "subprocess.",
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "pty.spawn",
    "asyncio.create_subprocess",
    "commands.getoutput",
    "pexpect.",
    "sh.",
    "os.startfile",
];

/// True for a package of the network.
pub(crate) fn is_network(path: &str) -> bool {
    NETWORK_MODULES.iter().any(|module| {
        path.strip_prefix(module)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(']))
    })
}

fn ends_with_one(path: &str, names: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, last)| names.contains(&last))
}

/// True if a call gets something from the network.
pub(crate) fn fetches(path: &str) -> bool {
    is_network(path) && ends_with_one(path, &FETCHES)
}

/// True if a call sends its arguments.
pub(crate) fn sends(path: &str) -> bool {
    is_network(path) && ends_with_one(path, &SENDS)
}

/// True if a call executes its first argument as Python.
pub(crate) fn executes(path: &str) -> bool {
    EXECUTORS.contains(&path)
}

/// True if a call starts a program.
pub(crate) fn starts_process(path: &str) -> bool {
    PROCESSES.iter().any(|start| path.starts_with(start))
        && !path.contains("()")
        && !path.ends_with("Error")
        && !path.ends_with("TimeoutExpired")
}

/// True if a call of this name decodes its arguments.
pub(crate) fn decodes(path: &str) -> bool {
    DECODERS.contains(&path)
}

/// Deserialisers that can execute code, by how common they are in honest programs.
pub(crate) fn unpickles(path: &str) -> bool {
    let name = path.rsplit_once('.').map_or("", |(_, name)| name);
    ["pickle.", "cPickle.", "dill.", "cloudpickle.", "joblib.", "shelve.", "_pickle."]
        .iter()
        .any(|module| path.starts_with(module))
        && matches!(name, "load" | "loads" | "Unpickler" | "open")
}

/// Watches the user.
pub(crate) fn watches(path: &str) -> bool {
    matches!(
        path,
        "keyboard.on_press"
            | "keyboard.hook"
            | "keyboard.record"
            | "PIL.ImageGrab.grab"
            | "pyautogui.screenshot"
            | "pyperclip.paste"
            | "pynput.keyboard.Listener"
            | "pynput.mouse.Listener"
            | "mss.mss"
    )
}

/// Loads compiled or native code.
pub(crate) fn loads_native(path: &str) -> bool {
    matches!(
        path,
        "marshal.loads"
            | "marshal.load"
            | "ctypes.CDLL"
            | "ctypes.WinDLL"
            | "ctypes.cdll.LoadLibrary"
    ) || path.starts_with("ctypes.windll.")
}

/// What reading a name says of its value.
pub(crate) fn marks_of_name(path: &str) -> Marks {
    match path {
        "os.environ" | "os.environb" => Marks::ENVIRONMENT,
        _ => Marks::NONE,
    }
}
