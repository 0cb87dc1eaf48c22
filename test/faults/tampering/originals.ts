import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parsePolicy } from '../../../core/verify/index.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { checkConfig } from '../workload/check.ts'
import { readingsOf, type ExaminationOptions } from './case.ts'
import type { Readings } from './readings.ts'
import { createTemplate, type Template } from './template.ts'

/** A template with the readings of the clean store, and the policy that a verifier has pinned. */
export interface Original {
  readonly template: Template
  readonly options: Pick<ExaminationOptions, 'policy' | 'sampled'>
  readonly readings: Readings
  /** Passes a fresh copy of the newest directory to `use`, and removes it. Several can exist at the same time. */
  withCopy<T>(use: (directory: string) => Promise<T>): Promise<T>
}

/** `bulk`: the evidences with one event, whose external ids begin with this word. */
export async function createOriginal(root: string, bulk: number): Promise<Original> {
  const template = await createTemplate(root, bulk)
  let copies = 0
  const withCopy: Original['withCopy'] = async (use) => {
    const directory = join(root, `copy-${++copies}`)
    await cp(template.newest, directory, { recursive: true })
    try {
      return await use(directory)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  }
  return withCopy(async (directory) => {
    const { registry } = await openConfiguredRegistry(checkConfig(directory), silentLogger)
    const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
    await registry.close()
    const options = { policy, sampled: /^bulk/ }
    const first = await readingsOf(directory, options)
    if ('refusal' in first) throw new Error(`the clean store was refused: ${first.refusal}`)
    return { template, options, readings: first.readings, withCopy }
  })
}
