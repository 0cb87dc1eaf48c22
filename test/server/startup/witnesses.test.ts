import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { splitVerifierKey } from '../../../core/log/verifier-key.ts'
import { readSecretFiles } from '../../../server/backup/data-files.ts'
import { listKeysOperation, resumeWitnessOperation } from '../../../server/control/operations.ts'
import type { ControlContext } from '../../../server/control/operation.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { assertSuccess, backUp, headOf, withSecrets } from '../../support/backups.ts'
import { addEvidence, directoryWith, openDirectory } from '../../support/configured-registry.ts'
import { eventually } from '../../support/eventually.ts'
import { runCli } from '../../support/server-process.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { policyOf, TestWitness } from '../../support/witness.ts'

const run = { report: () => undefined, signal: new AbortController().signal }

it('asks the witnesses of EVIDENCE_WITNESS_POLICY with a key of its own, which must not be lost', async (t) => {
  const witness = await TestWitness.start(t, 'wit.example/1')
  const directory = await directoryWith(t, ['e-1'])
  const policy = join(await temporaryFor(t), 'witnesses.policy')
  await writeFile(policy, policyOf([witness], 1))
  const env = { EVIDENCE_WITNESS_POLICY: policy }
  const opened = await openDirectory(directory, env)
  const { registry } = opened
  const config = loadConfig({ args: ['--data-dir', directory], env })
  const context: ControlContext = { ...opened, config, logger: silentLogger }
  const { submissionKey } = await listKeysOperation.run(context, {}, run)
  const key = splitVerifierKey(String(submissionKey))
  assert.deepEqual([key.name, key.typedKey[0]], [registry.log.origin, 1])
  assert.notEqual(submissionKey, registry.log.verifierKey)
  await eventually(() => registry.status().currentFailures.includes('WITNESS_FAILED'))
  assert.ok((await readSecretFiles(config)).has('submission-key.json'))
  assert.equal(await resumeWitnessOperation.run(context, { name: 'w1' }, run), false)
  await assert.rejects(resumeWitnessOperation.run(context, { name: 'w2' }, run), { code: 'CONFIG_ERROR' })
  await addEvidence(registry, 'e-2')
  await registry.close()

  const path = join(directory, 'submission-key.json')
  await rename(path, `${path}.lost`)
  await assert.rejects(openDirectory(directory, env), { code: 'LOG_KEY_MISMATCH', message: /witnesses know this log/ })
  await rename(`${path}.lost`, path)
  const again = await openDirectory(directory, env)
  const { extensions } = await again.registry.log.policy()
  await again.registry.close()
  assert.deepEqual(extensions, { submissionKey })

  const [backup, restored] = [join(await temporaryFor(t), 'backup'), join(await temporaryFor(t), 'restored')]
  const secrets = await withSecrets(t)
  assertSuccess(await backUp(directory, backup, ...secrets))
  const head = ['--head', headOf(directory)]
  assertSuccess(await runCli(['restore', '--from', backup, '--data-dir', restored, ...head, ...secrets]))
  const { registry: later } = await openDirectory(restored, env)
  const { extensions: restoredKey } = await later.log.policy()
  await later.close()
  assert.deepEqual(restoredKey, { submissionKey })
})
