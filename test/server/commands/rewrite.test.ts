import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { OPERATOR, type EvidenceErasure } from '../../../core/index.ts'
import { changeDirectory, directoryWith, openDirectory } from '../../support/configured-registry.ts'
import { ends, runCli } from '../../support/server-process.ts'
import { isOnDisk, temporaryFor } from '../../support/temporary.ts'

const SCOPE = { companyId: 'acme', principal: OPERATOR }
const ENV = { EVIDENCE_TSA: 'none', EVIDENCE_ANCHOR: 'none' }

const isMarked = async (path: string): Promise<boolean> =>
  (await isOnDisk(path, 'Zq8Kw2')) || (await isOnDisk(path, 'zq8kw2'))

it('removes what was erased from every file of a data directory, and so does a start', async (t) => {
  const path = await directoryWith(t, ['Zq8Kw2', 'other'], 'content', ENV)
  const input = { content: true, reason: 'request' } as const
  await changeDirectory(path, ({ evidences }) => evidences.erase(SCOPE, 'Zq8Kw2', input), ENV)
  assert.ok(await isMarked(path))
  const copy = join(await temporaryFor(t), 'copy')
  await cp(path, copy, { recursive: true })
  const { stdout } = await ends(0, runCli(['rewrite', '--data-dir', path]))
  assert.equal(stdout, '1 erasures finished: the files hold nothing that was erased\n')
  assert.ok(!(await isMarked(path)))
  const again = await ends(0, runCli(['rewrite', '--data-dir', path]))
  assert.match(again.stdout, /^0 erasures finished/)
  await ends(0, runCli(['fsck', '--data-dir', path]))

  const { registry } = await openDirectory(copy, ENV)
  const { items } = await registry.evidences.erasures(SCOPE)
  assert.deepEqual(
    (items as readonly EvidenceErasure[]).map(({ disk }) => disk),
    ['done'],
  )
  await registry.close()
  assert.ok(!(await isMarked(copy)))
})
