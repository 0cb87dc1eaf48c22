import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { OPERATOR, type Registry } from '../../core/index.ts'
import { loadConfig } from '../../server/settings/load.ts'
import { openConfiguredRegistry, type OpenedRegistry } from '../../server/startup/registry.ts'
import { bodyOf, inCategory } from './registry-fixture.ts'
import { AT_ONCE, type Environment } from './server-process.ts'
import { silentLogger } from './silent-logger.ts'
import { temporaryFor } from './temporary.ts'
import { arrayOf } from './array-of.ts'

const SCOPE = { companyId: 'acme', principal: OPERATOR }

/**
 * Opens the registry of a data directory in this process, as a start of the server does. All files are blobs, because
 * tests look for them there.
 */
export const openDirectory = (directory: string, env: Environment = {}): Promise<OpenedRegistry> =>
  openConfiguredRegistry(loadConfig({ args: ['--data-dir', directory], env: { ...AT_ONCE, ...env } }), silentLogger, {
    smallFileBytes: 0,
  })

/** Opens the registry of a directory, lets `change` write to it, seals, and closes it. */
export async function changeDirectory(
  directory: string,
  change: (registry: Registry) => Promise<unknown>,
  env?: Environment,
): Promise<void> {
  const { registry } = await openDirectory(directory, env)
  try {
    await change(registry)
    await registry.sealNow()
  } finally {
    await registry.close()
  }
}

/** Creates an evidence with a file. */
export async function addEvidence(registry: Registry, externalId: string, content = `content of ${externalId}`) {
  const file = { name: `${externalId}.txt`, mimeType: 'text/plain', body: bodyOf(content) }
  const staged = await registry.files.stage(SCOPE, file, { maxBytes: 1_000_000 })
  const names = { ...inCategory('Tools', 'Drills'), externalId, name: `A ${externalId}` }
  await registry.evidences.create(SCOPE, { ...names, files: [staged] })
  return staged.id
}

/** Creates a data directory whose registry has these evidences, with a file each. No process uses it. */
export async function directoryWith(
  t: TestContext,
  externalIds: readonly string[],
  content?: string,
  env?: Environment,
): Promise<string> {
  const directory = await temporaryFor(t)
  const fill = async (registry: Registry): Promise<void> => {
    await registry.sourceSystems.create(SCOPE, { name: 'first' })
    for (const externalId of externalIds) await addEvidence(registry, externalId, content)
  }
  await changeDirectory(directory, fill, env)
  return directory
}

/** Returns the external ids of the evidences of a directory, from the oldest on. */
export async function evidencesIn(directory: string): Promise<readonly string[]> {
  const { registry } = await openDirectory(directory)
  try {
    const evidences = await arrayOf(registry.evidences.all(SCOPE))
    return evidences.map(({ externalId }) => externalId).reverse()
  } finally {
    await registry.close()
  }
}

/** Copies what a backup without secrets leaves out. */
export async function copySecrets(from: string, to: string): Promise<void> {
  for (const name of ['secret', 'checkpoint-keys.json', 'tsa/ca.key', 'tsa/tsa.pem', 'ledger/ledger.key'])
    await copyFile(join(from, name), join(to, name))
}
