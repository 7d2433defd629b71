;; Functions that native modules import and that the engine lacks: its linker dropped them because nothing
;; in the engine calls them, or they are Emscripten's. They are merged before the modules; their imports
;; are functions of the engine, by the names in its name section. Offsets and bits are those of CPython 3.15
;; on 32-bit machines without free threading.
;; 28058676 = errno, as in errors.tsv of the patches.
(module
  (import "env" "memory" (memory 1))
  (import "env" "aligned_alloc" (func $aligned_alloc (param i32 i32) (result i32)))
  (import "env" "PyLong_FromLong" (func $PyLong_FromLong (param i32) (result i32)))
  (import "env" "PyType_FromMetaclass"
    (func $PyType_FromMetaclass (param i32 i32 i32 i32) (result i32)))
  (import "env" "_PyType_GetDict" (func $_PyType_GetDict (param i32) (result i32)))
  (import "env" "PyType_Modified" (func $PyType_Modified (param i32)))
  (import "env" "PyBytes_FromObject" (func $PyBytes_FromObject (param i32) (result i32)))
  (import "env" "PyMemoryView_FromObject" (func $PyMemoryView_FromObject (param i32) (result i32)))
  (import "env" "PyErr_BadArgument" (func $PyErr_BadArgument (result i32)))
  (import "env" "_Py_Dealloc" (func $_Py_Dealloc (param i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "env" "__stack_pointer" (global $stack_pointer (mut i32)))

  ;; int posix_memalign(void **out, size_t alignment, size_t size): 48 is ENOMEM, 28 EINVAL.
  (func (export "posix_memalign")
    (param $out i32) (param $alignment i32) (param $size i32) (result i32)
    (local $block i32)
    (if (i32.or
          (i32.lt_u (local.get $alignment) (i32.const 4))
          (i32.ne (i32.popcnt (local.get $alignment)) (i32.const 1)))
      (then (return (i32.const 28))))
    (local.set $block (call $aligned_alloc (local.get $alignment) (local.get $size)))
    (if (i32.eqz (local.get $block))
      (then (return (i32.const 48))))
    (i32.store (local.get $out) (local.get $block))
    (i32.const 0))

  ;; int *__errno_location(void)
  (func (export "__errno_location") (result i32)
    (i32.const 28058676))

  ;; int getentropy(void *buffer, size_t length): at most 256 bytes; 29 is EIO.
  (func (export "getentropy") (param $buffer i32) (param $length i32) (result i32)
    (if (i32.or
          (i32.gt_u (local.get $length) (i32.const 256))
          (i32.ne (call $random_get (local.get $buffer) (local.get $length)) (i32.const 0)))
      (then
        (i32.store (i32.const 28058676) (i32.const 29))
        (return (i32.const -1))))
    (i32.const 0))

  ;; int clock_gettime(clockid_t clock, struct timespec *out): Emscripten numbers its clocks as WASI does.
  ;; The time in nanoseconds is put into `out`, then divided in place.
  (func (export "clock_gettime") (param $clock i32) (param $out i32) (result i32)
    (local $error i32) (local $time i64)
    (local.set $error (call $clock_time_get (local.get $clock) (i64.const 1) (local.get $out)))
    (if (local.get $error)
      (then
        (i32.store (i32.const 28058676) (local.get $error))
        (return (i32.const -1))))
    (local.set $time (i64.load (local.get $out)))
    (i64.store (local.get $out) (i64.div_u (local.get $time) (i64.const 1000000000)))
    (i32.store offset=8 (local.get $out)
      (i32.wrap_i64 (i64.rem_u (local.get $time) (i64.const 1000000000))))
    (i32.const 0))

  ;; There are no threads: a mutex is always free.
  (func (export "pthread_mutex_lock") (param i32) (result i32) (i32.const 0))
  (func (export "pthread_mutex_unlock") (param i32) (result i32) (i32.const 0))
  (func (export "pthread_mutex_trylock") (param i32) (result i32) (i32.const 0))
  (func (export "pthread_condattr_destroy") (param i32) (result i32) (i32.const 0))

  ;; PyObject *PyLong_FromInt32(int32_t value)
  (func (export "PyLong_FromInt32") (param $value i32) (result i32)
    (call $PyLong_FromLong (local.get $value)))

  ;; int PyType_Freeze(PyTypeObject *type): tp_flags are at 84, 256 is Py_TPFLAGS_IMMUTABLETYPE.
  (func (export "PyType_Freeze") (param $type i32) (result i32)
    (i32.store offset=84 (local.get $type)
      (i32.or (i32.load offset=84 (local.get $type)) (i32.const 256)))
    (call $PyType_Modified (local.get $type))
    (i32.const 0))

  ;; void *PyUnicode_DATA(PyObject *text): the state is at 16, where 32 stands for compact and 64 for ASCII.
  ;; Compact ASCII begins at 20, other compact text at 28, where text that is not compact has its pointer.
  (func (export "PyUnicode_DATA") (param $text i32) (result i32)
    (local $state i32)
    (local.set $state (i32.load offset=16 (local.get $text)))
    (if (i32.eqz (i32.and (local.get $state) (i32.const 32)))
      (then (return (i32.load offset=28 (local.get $text)))))
    (i32.add (local.get $text)
      (select (i32.const 20) (i32.const 28) (i32.and (local.get $state) (i32.const 64)))))

  ;; int PyUnicode_KIND(PyObject *text): bytes of a character, three bits of the state.
  (func (export "PyUnicode_KIND") (param $text i32) (result i32)
    (i32.and
      (i32.shr_u (i32.load offset=16 (local.get $text)) (i32.const 2))
      (i32.const 7)))

  ;; PyObject *PyType_GetDict(PyTypeObject *type): with a reference of its own. A count of 2^30 and more is
  ;; that of an immortal object.
  (func (export "PyType_GetDict") (param $type i32) (result i32)
    (local $dict i32)
    (local.set $dict (call $_PyType_GetDict (local.get $type)))
    (if (local.get $dict)
      (then
        (if (i32.lt_u (i32.load (local.get $dict)) (i32.const 1073741824))
          (then
            (i32.store (local.get $dict)
              (i32.add (i32.load (local.get $dict)) (i32.const 1)))))))
    (local.get $dict))

  ;; PyObject *PyType_FromSlots(const PySlot *slots): of the slots of 16 bytes (identifier at 0, flags at 2,
  ;; value at 8) makes a specification of a type: name at 0, size at 4, size of an item at 8, flags at 12, a
  ;; pointer to slots of 8 bytes at 16. Both lie on the C stack: 32 bytes, and 128 slots. An identifier that
  ;; is none of a type's is refused, unless its slot is optional (flag 1).
  (func (export "PyType_FromSlots") (param $slot i32) (result i32)
    (local $id i32) (local $value i32) (local $inner i32) (local $spec i32) (local $out i32)
    (local $end i32) (local $metaclass i32) (local $module i32) (local $type i32)
    (local.set $spec (i32.sub (global.get $stack_pointer) (i32.const 1056)))
    (global.set $stack_pointer (local.get $spec))
    (memory.fill (local.get $spec) (i32.const 0) (i32.const 1056))
    (local.set $out (i32.add (local.get $spec) (i32.const 32)))
    (i32.store offset=16 (local.get $spec) (local.get $out))
    ;; The last of the slots of 8 bytes stays zero, which ends them.
    (local.set $end (i32.add (local.get $spec) (i32.const 1048)))
    (block $refused
      (loop $next
        (local.set $id (i32.load16_u (local.get $slot)))
        (local.set $value (i32.load offset=8 (local.get $slot)))
        (if (i32.eqz (local.get $id))
          (then
            (local.set $type
              (call $PyType_FromMetaclass
                (local.get $metaclass) (local.get $module) (local.get $spec) (i32.const 0)))
            (global.set $stack_pointer (i32.add (local.get $spec) (i32.const 1056)))
            (return (local.get $type))))
        (block $done
          ;; Up to 91: a slot of a type.
          (if (i32.le_u (local.get $id) (i32.const 91))
            (then
              (br_if $refused (i32.ge_u (local.get $out) (local.get $end)))
              (i32.store (local.get $out) (local.get $id))
              (i32.store offset=4 (local.get $out) (local.get $value))
              (local.set $out (i32.add (local.get $out) (i32.const 8)))
              (br $done)))
          ;; 93, Py_tp_slots: slots of 8 bytes.
          (if (i32.eq (local.get $id) (i32.const 93))
            (then
              (local.set $inner (local.get $value))
              (loop $copy
                (br_if $done (i32.eqz (i32.load (local.get $inner))))
                (br_if $refused (i32.ge_u (local.get $out) (local.get $end)))
                (i64.store align=4 (local.get $out) (i64.load align=4 (local.get $inner)))
                (local.set $inner (i32.add (local.get $inner) (i32.const 8)))
                (local.set $out (i32.add (local.get $out) (i32.const 8)))
                (br $copy))))
          ;; 95 to 99: Py_tp_name, Py_tp_basicsize, Py_tp_extra_basicsize, Py_tp_itemsize, Py_tp_flags.
          (if (i32.eq (local.get $id) (i32.const 95))
            (then (i32.store (local.get $spec) (local.get $value)) (br $done)))
          (if (i32.eq (local.get $id) (i32.const 96))
            (then (i32.store offset=4 (local.get $spec) (local.get $value)) (br $done)))
          (if (i32.eq (local.get $id) (i32.const 97))
            (then
              (i32.store offset=4 (local.get $spec) (i32.sub (i32.const 0) (local.get $value)))
              (br $done)))
          (if (i32.eq (local.get $id) (i32.const 98))
            (then (i32.store offset=8 (local.get $spec) (local.get $value)) (br $done)))
          (if (i32.eq (local.get $id) (i32.const 99))
            (then (i32.store offset=12 (local.get $spec) (local.get $value)) (br $done)))
          ;; 107, Py_tp_metaclass, and 108, Py_tp_module.
          (if (i32.eq (local.get $id) (i32.const 107))
            (then (local.set $metaclass (local.get $value)) (br $done)))
          (if (i32.eq (local.get $id) (i32.const 108))
            (then (local.set $module (local.get $value)) (br $done)))
          (br_if $refused
            (i32.eqz (i32.and (i32.load16_u offset=2 (local.get $slot)) (i32.const 1)))))
        (local.set $slot (i32.add (local.get $slot) (i32.const 16)))
        (br $next)))
    (global.set $stack_pointer (i32.add (local.get $spec) (i32.const 1056)))
    (drop (call $PyErr_BadArgument))
    (i32.const 0))

  ;; PyObject *PyMemoryView_GetContiguous(PyObject *object, int type, char order): for reading (256) in the
  ;; order of C ('C' or 'A'), as a view of a copy; other uses are refused.
  (func (export "PyMemoryView_GetContiguous")
    (param $object i32) (param $type i32) (param $order i32) (result i32)
    (local $copy i32) (local $view i32)
    (if (i32.or
          (i32.ne (local.get $type) (i32.const 256))
          (i32.eq (local.get $order) (i32.const 70)))
      (then
        (drop (call $PyErr_BadArgument))
        (return (i32.const 0))))
    (local.set $copy (call $PyBytes_FromObject (local.get $object)))
    (if (i32.eqz (local.get $copy))
      (then (return (i32.const 0))))
    (local.set $view (call $PyMemoryView_FromObject (local.get $copy)))
    ;; The view has its own reference. A count of 2^30 and more is that of an immortal object.
    (if (i32.lt_s (i32.load (local.get $copy)) (i32.const 1073741824))
      (then
        (i32.store (local.get $copy) (i32.sub (i32.load (local.get $copy)) (i32.const 1)))
        (if (i32.eqz (i32.load (local.get $copy)))
          (then (call $_Py_Dealloc (local.get $copy))))))
    (local.get $view)))
