;; Source of the functions that casts.tsv appends. A test compares the two and prints the rows that are
;; wanted; imports are named like the engine's functions.
;; WebAssembly's conversions saturate: NaN becomes 0, and -1.0 as an unsigned byte becomes 0. On x86-64 a
;; value that does not fit gives the smallest integer, narrow types take the low bits of 32, and the
;; processor notes an invalid operation, of which NumPy warns.
;; 27608152 holds the flags of floating-point operations as `npy_get_floatstatus` reads them; 1 is "invalid".
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "npy_half_to_float" (func $half_to_float (param i32) (result f32)))

  (func $note_invalid
    (i32.store (i32.const 27608152) (i32.or (i32.load (i32.const 27608152)) (i32.const 1))))

  ;; As `cvttsd2si` with a 32-bit register.
  (func $to_int32 (param $number f64) (result i32)
    ;; False for NaN as well.
    (if (i32.and
          (f64.gt (local.get $number) (f64.const -2147483649))
          (f64.lt (local.get $number) (f64.const 2147483648)))
      (then (return (i32.trunc_sat_f64_s (local.get $number)))))
    (call $note_invalid)
    (i32.const -2147483648))

  ;; As `cvttsd2si` with a 64-bit register; with the highest bit changed if `is_shifted` is 1.
  (func $to_int64 (param $is_shifted i32) (param $number f64) (result i64)
    (local $sign i64)
    (local.set $sign (i64.shl (i64.extend_i32_u (local.get $is_shifted)) (i64.const 63)))
    (if (i32.and
          (f64.ge (local.get $number) (f64.const -9223372036854775808))
          (f64.lt (local.get $number) (f64.const 9223372036854775808)))
      (then (return (i64.xor (local.get $sign) (i64.trunc_sat_f64_s (local.get $number))))))
    (call $note_invalid)
    (i64.xor (local.get $sign) (i64.const -9223372036854775808)))

  ;; Casts floating-point numbers to integers. kind is 8 * source + target; source 0: float64, 1: float32, 2: float16;
  ;; target 0: 8 bits, 1: 16 bits, 2: int32, 3: uint32, 4: int64, 5: uint64.
  (func $cast_to_integer (param $data i32) (param $count i32) (param $from_step i32) (param $to_step i32)
    (param $kind i32) (result i32)
    (local $from i32) (local $to i32) (local $number f64)
    (local.set $count (i32.load (local.get $count)))
    (local.set $from (i32.load (local.get $data)))
    (local.set $to (i32.load offset=4 (local.get $data)))
    (block $done
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (if (i32.lt_u (local.get $kind) (i32.const 8))
          (then (local.set $number (f64.load align=1 (local.get $from))))
          (else (if (i32.lt_u (local.get $kind) (i32.const 16))
            (then (local.set $number (f64.promote_f32 (f32.load align=1 (local.get $from)))))
            (else (local.set $number
              (f64.promote_f32 (call $half_to_float (i32.load16_u align=1 (local.get $from)))))))))
        (block $stored
          (block $uint64 (block $int64 (block $uint32 (block $int32 (block $two (block $one
            (br_table $one $two $int32 $uint32 $int64 $uint64 (i32.and (local.get $kind) (i32.const 7))))
            (i32.store8 (local.get $to) (call $to_int32 (local.get $number)))
            (br $stored))
            (i32.store16 align=1 (local.get $to) (call $to_int32 (local.get $number)))
            (br $stored))
            (i32.store align=1 (local.get $to) (call $to_int32 (local.get $number)))
            (br $stored))
            (if (f64.ge (local.get $number) (f64.const 2147483648))
              (then (i32.store align=1 (local.get $to)
                (i32.xor (i32.const -2147483648)
                  (call $to_int32 (f64.sub (local.get $number) (f64.const 2147483648))))))
              (else (i32.store align=1 (local.get $to) (call $to_int32 (local.get $number)))))
            (br $stored))
            (i64.store align=1 (local.get $to) (call $to_int64 (i32.const 0) (local.get $number)))
            (br $stored))
          (i64.store align=1 (local.get $to)
            (if (result i64) (f64.ge (local.get $number) (f64.const 9223372036854775808))
              (then (call $to_int64 (i32.const 1)
                (f64.sub (local.get $number) (f64.const 9223372036854775808))))
              (else (call $to_int64 (i32.const 0) (local.get $number))))))
        (local.set $from (i32.add (local.get $from) (local.get $from_step)))
        (local.set $to (i32.add (local.get $to) (local.get $to_step)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.const 0)))
