import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLocalTsa } from '../../../adapters/local-tsa/index.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { skipWithoutOpenssl } from '../../support/openssl.ts'
import { temporaryFor } from '../../support/temporary.ts'

const data = new TextEncoder().encode('a checkpoint\n')

test(
  'the local authority returns tokens that openssl verifies for the data and for no other',
  { skip: skipWithoutOpenssl() },
  async (t) => {
    const directory = await temporaryFor(t)
    // openssl checks certificates at the current time.
    const tsa = await openLocalTsa(directory, { clock: new ManualClock(Date.now()) })
    const [file, other, token] = ['data', 'other', 'token.tsr'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(file, data)
    await writeFile(other, 'other data')
    await writeFile(token, await tsa.stamp(data))
    const verify = (path: string): string => {
      const args = ['ts', '-verify', '-data', path, '-in', token, '-CAfile', join(directory, 'ca.pem')]
      const { stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
      return stdout + stderr
    }
    assert.match(verify(file), /Verification: OK/)
    assert.match(verify(other), /Verification: FAILED/)
    const text = spawnSync('openssl', ['ts', '-reply', '-in', token, '-text'], { encoding: 'utf8' }).stdout
    assert.match(text, /Status: Granted\.[^]*Hash Algorithm: sha256[^]*Nonce: 0x/)
  },
)
