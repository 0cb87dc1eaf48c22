import { isRegistryError } from '../../../core/index.ts'
import type { Policy } from '../../../core/verify/index.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { readEverything, type Readings } from './readings.ts'
import { checkConfig, fsckReport } from '../workload/check.ts'

export interface ExaminationOptions {
  readonly policy: Policy
  readonly readOnly: boolean
  /** Evidences of which only one in ten is proven. */
  readonly sampled: RegExp
  /** Whether everything is read even if fsck reports something. */
  readonly readAlways: boolean
}

/** What the registry does with a data directory. */
export interface Examination {
  /** The error code, if the registry did not start. */
  readonly refusal?: string
  /** What fsck reports, as text. */
  readonly reported: readonly string[]
  /** Absent if the registry did not start, or if fsck reported something and `readAlways` is false. */
  readonly readings?: Readings
}

/** Starts and stops the registry, runs fsck, then reads everything and verifies every proof. */
export async function examine(directory: string, options: ExaminationOptions): Promise<Examination> {
  const refusal = await withRegistry(directory, options.readOnly, () => undefined)
  if (refusal !== undefined) return { ...refusal, reported: [] }
  const reported = await fsckReport(directory)
  if (reported.length > 0 && !options.readAlways) return { reported }
  return { reported, ...(await readingsOf(directory, options)) }
}

/** Starts the registry read-only and reads everything. */
export async function readingsOf(
  directory: string,
  { policy, sampled }: Pick<ExaminationOptions, 'policy' | 'sampled'>,
): Promise<{ readonly readings: Readings } | { readonly refusal: string }> {
  let readings: Readings | undefined
  const refusal = await withRegistry(directory, true, async (registry) => {
    readings = await readEverything(registry, policy, sampled)
  })
  if (refusal !== undefined) return refusal
  if (readings === undefined) throw new Error('nothing was read')
  return { readings }
}

type Opened = Awaited<ReturnType<typeof openConfiguredRegistry>>

/** Throws if the start fails with anything but an error of the registry's own. */
async function withRegistry(
  directory: string,
  readOnly: boolean,
  use: (registry: Opened['registry']) => Promise<void> | undefined,
): Promise<{ readonly refusal: string } | undefined> {
  let opened: Opened
  try {
    opened = await openConfiguredRegistry(checkConfig(directory, readOnly), silentLogger)
  } catch (error) {
    if (!isRegistryError(error)) throw error
    return { refusal: error.code }
  }
  try {
    await use(opened.registry)
  } finally {
    await opened.registry.close()
  }
  return undefined
}
