import type { BenchCase } from '../run/case.ts'
import { blobs } from './blobs.ts'
import { bundle } from './bundle.ts'
import { engine } from './engine.ts'
import { growth } from './growth.ts'
import { http } from './http.ts'
import { importFile } from './import.ts'
import { ingest } from './ingest.ts'
import { limit } from './limit.ts'
import { postgres } from './postgres.ts'
import { scaling } from './scaling.ts'
import { sealing } from './sealing.ts'
import { search } from './search.ts'
import { servers } from './servers.ts'
import { store } from './store.ts'
import { strictJson } from './strict-json.ts'
import { throughput } from './throughput.ts'

/** The benchmark that runs if none is named. */
export const STANDARD_CASE = throughput

/** All benchmarks, in the order of `--all`. */
export const CASES: readonly BenchCase[] = [
  throughput,
  engine,
  limit,
  scaling,
  sealing,
  strictJson,
  bundle,
  store,
  ingest,
  importFile,
  http,
  growth,
  search,
  blobs,
  postgres,
  servers,
]
