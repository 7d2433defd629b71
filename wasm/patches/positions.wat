;; Source of the functions that positions.tsv appends. A test compares the two and prints the row that is
;; wanted; imports are named like the engine's functions.
;; 26435440 = &PyLongArrType_Type, 26435652 = &PyLongLongArrType_Type, 26106228 = &PyLong_Type.
;; NPY_LONG = 7 is intp; 26419088 = &PyArray_PyLongDType; 27642964 holds the DType of NPY_LONGLONG.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "promote_and_get_ufuncimpl" (func $promote (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "engine" "PyArray_DTypeFromObject" (func $dtype_from_object (param i32 i32 i32) (result i32)))
  (import "engine" "gentype_add" (func $gentype_add (param i32 i32) (result i32)))
  (import "engine" "gentype_subtract" (func $gentype_subtract (param i32 i32) (result i32)))
  (import "engine" "gentype_multiply" (func $gentype_multiply (param i32 i32) (result i32)))
  (import "engine" "gentype_alloc" (func $gentype_alloc (param i32 i32) (result i32)))

  ;; Before a ufunc looks for its loop: if it is one of the named ones, no dtype was asked for, all inputs are bool, integers
  ;; of 32 bits or less or Python ints, and one of them is intp, then all inputs count as int64.  add and subtract only
  ;; between scalars: `positions + 1` is passed on to compiled code that wants intp, and cannot leave 32 bits.
  (func $widen_operands (param $ufunc i32) (param $ops i32) (param $signature i32) (param $dtypes i32) (param i32 i32 i32)
    (result i32) (local $name i32) (local $i i32) (local $d i32) (local $n i32) (local $seen i32) (local $scalars i32)
    (block $out
      (local.set $name (i32.load align=1 (i32.load offset=40 (local.get $ufunc))))  ;; first four letters
      (if (i32.eqz (i32.or (i32.or (i32.or (i32.or (i32.or (i32.or (i32.or (i32.or (i32.eq (local.get $name) (i32.const 1953265005))  ;; multiply
        (i32.eq (local.get $name) (i32.const 1702326128)))  ;; power
        (i32.eq (local.get $name) (i32.const 1635086707)))  ;; square
        (i32.eq (local.get $name) (i32.const 1952867692)))  ;; left_shift
        (i32.eq (local.get $name) (i32.const 7168876)))  ;; lcm
        (i32.eq (local.get $name) (i32.const 1836343661)))  ;; matmul
        (i32.eq (local.get $name) (i32.const 1987338605)))  ;; matvec
        (i32.eq (local.get $name) (i32.const 1835230582)))  ;; vecmat
        (i32.eq (local.get $name) (i32.const 1684235638)))  ;; vecdot
        ) (then
        (local.set $scalars (i32.const 1))
        (br_if $out (i32.eqz (i32.or (i32.eq (local.get $name) (i32.const 6579297))  ;; add
          (i32.eq (local.get $name) (i32.const 1952609651)))  ;; subtract
        ))))
      (loop $next  ;; over all operands, in steps of a pointer
        (br_if $out (i32.load (i32.add (local.get $signature) (local.get $i))))
        (if (i32.lt_s (local.get $i) (i32.shl (i32.load offset=8 (local.get $ufunc)) (i32.const 2))) (then  ;; an input
          (br_if $out (i32.eqz (local.tee $d (i32.load (i32.add (local.get $dtypes) (local.get $i))))))
          (if (local.get $scalars) (then
            (br_if $out (i32.load offset=12 (i32.load (i32.add (local.get $ops) (local.get $i)))))))  ;; ndim
          (if (i32.ne (local.get $d) (i32.const 26419088)) (then
            (br_if $out (i32.eqz (i32.and (i32.load8_u offset=488 (local.get $d)) (i32.const 1))))  ;; a legacy DType
            (br_if $out (i32.gt_u (local.tee $n (i32.load offset=476 (local.get $d))) (i32.const 8)))  ;; type_num
            (local.set $seen (i32.or (local.get $seen) (i32.eq (local.get $n) (i32.const 7))))))))
        (local.set $i (i32.add (local.get $i) (i32.const 4)))
        (br_if $next (i32.lt_s (local.get $i) (i32.shl (i32.load offset=16 (local.get $ufunc)) (i32.const 2)))))
      (br_if $out (i32.eqz (local.get $seen)))
      (local.set $i (i32.shl (i32.load offset=8 (local.get $ufunc)) (i32.const 2)))
      (local.set $n (i32.load (i32.const 27642964)))
      (loop $next  ;; replace, and keep the reference counts
        (local.set $i (i32.sub (local.get $i) (i32.const 4)))
        (local.set $d (i32.load (i32.add (local.get $dtypes) (local.get $i))))
        (i32.store (local.get $d) (i32.sub (i32.load (local.get $d)) (i32.const 1)))
        (i32.store (local.get $n) (i32.add (i32.load (local.get $n)) (i32.const 1)))
        (i32.store (i32.add (local.get $dtypes) (local.get $i)) (local.get $n))
        (br_if $next (local.get $i))))
    (call $promote (local.get $ufunc) (local.get $ops) (local.get $signature) (local.get $dtypes)
      (local.get 4) (local.get 5) (local.get 6)))

  ;; dot, inner, vdot, correlate: the common dtype of both operands, int64 where it would be intp
  (func $widen_common (param $object i32) (param $maxdims i32) (param $out i32) (result i32)
    (local $r i32) (local $d i32) (local $n i32)
    (local.set $r (call $dtype_from_object (local.get $object) (local.get $maxdims) (local.get $out)))
    (block $end
      (br_if $end (i32.lt_s (local.get $r) (i32.const 0)))
      (br_if $end (i32.eqz (local.tee $d (i32.load (local.get $out)))))
      (br_if $end (i32.ne (i32.load offset=16 (local.get $d)) (i32.const 7)))
      (i32.store (local.get $d) (i32.sub (i32.load (local.get $d)) (i32.const 1)))
      (local.set $n (i32.load offset=472 (i32.load (i32.const 27642964))))  ;; its singleton
      (i32.store (local.get $n) (i32.add (i32.load (local.get $n)) (i32.const 1)))
      (i32.store (local.get $out) (local.get $n)))
    (local.get $r))

  ;; The value of an intp or int64 scalar or of an int of one digit, if it has 32 bits; otherwise 1 << 32.
  (func $small_value (param $object i32) (result i64) (local $type i32) (local $tag i32) (local $value i64)
    (local.set $type (i32.load offset=4 (local.get $object)))
    (if (i32.eq (local.get $type) (i32.const 26435440))
      (then (return (i64.load32_s offset=8 (local.get $object)))))
    (if (i32.eq (local.get $type) (i32.const 26106228))
      (then
        (if (i32.le_u (local.tee $tag (i32.load offset=8 (local.get $object))) (i32.const 15))
          (then (return (i64.extend_i32_s (i32.mul (i32.load offset=12 (local.get $object))
            (i32.sub (i32.const 1) (i32.and (local.get $tag) (i32.const 3))))))))))
    (if (i32.eq (local.get $type) (i32.const 26435652))
      (then
        (local.set $value (i64.load offset=8 align=4 (local.get $object)))
        (if (i64.eq (i64.extend_i32_s (i32.wrap_i64 (local.get $value))) (local.get $value))
          (then (return (local.get $value))))))
    (i64.const 4294967296))

  ;; `a + b` (0), `a - b` (1) and `a * b` (2) where one is an intp scalar: an int64 scalar at once if
  ;; both have 32 bits, so that nothing overflows; otherwise what the ufunc gives.
  (func $position_scalar (param $left i32) (param $right i32) (param $kind i32) (result i32)
    (local $a i64) (local $b i64) (local $result i32)
    (if (i32.and
          (i64.ne (local.tee $a (call $small_value (local.get $left))) (i64.const 4294967296))
          (i64.ne (local.tee $b (call $small_value (local.get $right))) (i64.const 4294967296)))
      (then
        (if (local.tee $result (call $gentype_alloc (i32.const 26435652) (i32.const 0)))
          (then
            (if (i32.eqz (local.get $kind))
              (then (local.set $a (i64.add (local.get $a) (local.get $b))))
              (else (if (i32.eq (local.get $kind) (i32.const 1))
                (then (local.set $a (i64.sub (local.get $a) (local.get $b))))
                (else (local.set $a (i64.mul (local.get $a) (local.get $b)))))))
            (i64.store offset=8 align=4 (local.get $result) (local.get $a))))
        (return (local.get $result))))
    (if (i32.eqz (local.get $kind))
      (then (return (call $gentype_add (local.get $left) (local.get $right)))))
    (if (i32.eq (local.get $kind) (i32.const 1))
      (then (return (call $gentype_subtract (local.get $left) (local.get $right)))))
    (call $gentype_multiply (local.get $left) (local.get $right))))
