import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { encryptKeystoreJson } from 'ethers/wallet'
import { accountOfPrivateKey } from '../../../adapters/evm/index.ts'
import { systemClock } from '../../../core/index.ts'
import { loadConfig, type Config } from '../../../server/settings/load.ts'
import { anchorOptions } from '../../../server/startup/anchor.ts'
import { CHAIN_ID, newPrivateKey } from '../../support/anvil.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

describe('the settings of the anchor', () => {
  const directory = temporaryOfSuite()

  const settings = (change: Partial<Config>): Config => ({
    ...loadConfig({ args: [], env: {} }),
    dataDir: directory,
    anchor: 'evm',
    evmRpcUrl: ['http://127.0.0.1:1'],
    evmChainId: CHAIN_ID,
    ...change,
  })
  const options = (change: Partial<Config>) =>
    anchorOptions(settings(change), `${directory}/ledger`, { clock: systemClock, logger: silentLogger })

  it('reads the account from a keystore file', async () => {
    const key = newPrivateKey()
    const account = { address: (await accountOfPrivateKey(key)).address, privateKey: `0x${key}` }
    const path = `${directory}/keystore.json`
    await writeFile(path, await encryptKeystoreJson(account, 'password', { scrypt: { N: 1024 } }))
    const { anchor, anchorIntervalMs } = await options({ evmKeystore: path, evmKeystorePassword: 'password' })
    assert.equal(anchor?.info.type, 'evm')
    assert.equal(anchorIntervalMs, 600_000)
    await anchor?.close()
  })

  it('names each setting that is missing, wrong or superfluous', async () => {
    const evmPrivateKey = newPrivateKey()
    for (const [change, message] of [
      [{}, /needs either EVIDENCE_EVM_PRIVATE_KEY \(or its _FILE\) or EVIDENCE_EVM_KEYSTORE/],
      [{ evmPrivateKey, evmKeystore: 'k' }, /needs either/],
      [{ evmPrivateKey, evmRpcUrl: undefined }, /needs EVIDENCE_EVM_RPC_URL/],
      [{ evmPrivateKey, evmChainId: undefined }, /needs EVIDENCE_EVM_CHAIN_ID/],
      [{ evmKeystore: `${directory}/none` }, /EVIDENCE_EVM_KEYSTORE: the file .*none cannot be read \(ENOENT\)/],
    ] as const)
      await assert.rejects(options(change), { code: 'CONFIG_ERROR', message })
  })

  it('anchors on the local ledger or nowhere without settings of a chain', async () => {
    const local = await options({ anchor: 'local', evmRpcUrl: undefined, evmChainId: undefined })
    assert.deepEqual([local.anchor?.info.type, local.anchorIntervalMs], ['local', 60_000])
    await local.anchor?.close()
    assert.deepEqual(await options({ anchor: 'none' }), {})
  })
})
