import type { BenchCase } from '../run/case.ts'
import { growth } from './growth.ts'
import { http } from './http.ts'
import { ingest } from './ingest.ts'
import { monitor } from './monitor.ts'
import { sealing } from './sealing.ts'
import { peers } from './peers.ts'
import { search } from './search.ts'
import { shared } from './shared.ts'
import { throughput } from './throughput.ts'

/** The benchmark that runs if none is named. */
export const STANDARD_CASE = throughput

/** All benchmarks, in the order of `--all`. */
export const CASES: readonly BenchCase[] = [throughput, sealing, ingest, peers, http, growth, monitor, search, shared]
