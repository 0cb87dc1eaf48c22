import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { loadConfig } from '../../../server/settings/load.ts'
import { stderrLogger } from '../../../server/startup/logger.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { temporaryFor } from '../../support/temporary.ts'

it('a start removes the secrets that a killed process has left under temporary names', async (t) => {
  const directory = await temporaryFor(t)
  const left = ['.secret.0b9f.tmp', '.checkpoint-keys.json.77aa.tmp', '.operator.key.11cc.tmp']
  for (const name of [...left, '.profile']) await writeFile(join(directory, name), 'left')
  const config = loadConfig({ args: ['--data-dir', directory], env: {} })
  const { registry } = await openConfiguredRegistry(config, stderrLogger)
  await registry.close()
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith('.')),
    ['.profile'],
  )
})
