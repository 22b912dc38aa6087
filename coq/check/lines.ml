(* The extracted checkers on bare numbers, one JSON object a line: how the tests compare them with Python's. *)

open Json
open Spelling

let nat what value =
  match value with Int z when Z.sign z >= 0 -> z | _ -> refuse (what ^ " must be a whole number of at least 0")

let integer what value = match value with Int z -> z | _ -> refuse (what ^ " must be a whole number")
let list_of what read value = match value with List items -> List.map (read what) items | _ -> refuse (what ^ " must be a list")
let integers what value = list_of what integer value

let clique _ value =
  match value with
  | List [ start; stop; num; den ] ->
      { Checker.start = nat "start" start; stop = nat "stop" stop; dnum = integer "num" num; dden = integer "den" den }
  | _ -> refuse "a clique must be start, stop, num, den"

let window _ value =
  match value with
  | List [ start; stop; first; last ] ->
      { Checker.from = nat "start" start; till = nat "stop" stop; lowest = nat "first" first; highest = nat "last" last }
  | _ -> refuse "a window must be start, stop, first, last"

let edge _ value =
  match value with
  | List [ tail; head; num; den ] ->
      { Checker.gnum = integer "num" num; gden = integer "den" den; ends = [ (nat "tail" tail, nat "head" head) ] }
  | _ -> refuse "an edge must be tail, head, num, den"

let verdict passed = if passed then "private" else "refused"

let answer line =
  let fields = fields_of "a line" (of_string line) in
  let get name = field fields name in
  let whole name = integer name (get name) in
  let size name = nat name (get name) in
  match text_of "check" (get "check") with
  | "exp_below" -> Z.to_string (Checker.exp_below (whole "num") (whole "den"))
  | "product" ->
      let weights = list_of "weights" integers (get "weights") in
      let cliques = list_of "cliques" clique (get "cliques") in
      verdict (Checker.check_product (whole "total") (size "answers") weights cliques (whole "num") (whole "den"))
  | "noise" ->
      verdict
        (Checker.check_noise (integers "core" (get "core")) (whole "floor") (whole "end") (size "size") (size "reach")
           (whole "distance_num") (whole "distance_den") (whole "num") (whole "den"))
  | "states" ->
      let weights = list_of "weights" (fun what value -> list_of what integers value) (get "weights") in
      let windows = list_of "windows" window (get "windows") in
      verdict (Checker.check_states (size "levels") (size "answers") weights windows (whole "num") (whole "den"))
  | "scores" ->
      let deeper = list_of "deeper" nat (get "deeper") in
      verdict
        (Checker.check_scores (integers "table" (get "table")) (size "stride") deeper (whole "width") (whole "num")
           (whole "den"))
  | "edges" ->
      let weights = list_of "weights" integers (get "weights") in
      let edges = list_of "edges" edge (get "edges") in
      verdict (Checker.check_edges (size "answers") weights edges (whole "num") (whole "den"))
  | other -> refuse ("there is no check named " ^ other)

let run () =
  try
    while true do
      print_endline (answer (input_line stdin))
    done
  with End_of_file -> ()
