import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keccak256 } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { encryptKeystoreJson } from 'ethers/wallet'
import { accountOfKeystore, accountOfPrivateKey } from '../../../adapters/evm/index.ts'
import { isRegistryError } from '../../../core/errors.ts'
import { newPrivateKey } from '../../support/anvil.ts'

const fields = {
  chainId: 5,
  nonce: 7,
  gasLimit: 31_000n,
  maxFeePerGas: 3n,
  maxPriorityFeePerGas: 1n,
  input: Uint8Array.of(1, 2, 3),
}

describe('an account of an EVM chain', () => {
  test('has the address of its key, and signs the same bytes each time', async () => {
    // The address of the private key 1 is well known.
    const one = await accountOfPrivateKey('1'.padStart(64, '0'))
    assert.equal(one.address, '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf')
    const { hash, raw } = one.sign(fields)
    assert.deepEqual(one.sign(fields), { hash, raw })
    assert.equal(keccak256(raw), hash)
    const { from, to, value, data, chainId, nonce, type } = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`)
    assert.deepEqual(
      [from, to, value, data, chainId, nonce, type],
      [one.address, one.address, 0n, '0x010203', 5n, 7, 2],
    )
  })

  test('accepts its key with or without 0x, in upper or lower case, with white space around it', async () => {
    const key = newPrivateKey()
    const { address } = await accountOfPrivateKey(key)
    for (const text of [`0x${key}`, `0x${key.toUpperCase()}`, ` ${key}\n`])
      assert.equal((await accountOfPrivateKey(text)).address, address)
  })

  test('does not show an invalid key in its error', async () => {
    const order = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
    for (const text of ['', newPrivateKey().slice(2), `${newPrivateKey()}00`, 'g'.repeat(64), '0'.repeat(64), order])
      await assert.rejects(accountOfPrivateKey(text), (error: Error) => {
        assert.ok(isRegistryError(error, 'CONFIG_ERROR'))
        assert.ok(text === '' || !`${error.message}${error.stack}`.includes(text))
        assert.equal(error.cause, undefined)
        return true
      })
  })

  test('is decrypted from a keystore file with its password', async () => {
    const key = newPrivateKey()
    const { address } = await accountOfPrivateKey(key)
    const json = await encryptKeystoreJson({ address, privateKey: `0x${key}` }, 'right', { scrypt: { N: 1024 } })
    assert.equal((await accountOfKeystore(json, 'right')).address, address)
    for (const [text, password] of [
      [json, 'wrong'],
      [json.replace(/"mac":"(.)/i, (_, digit) => `"mac":"${digit === '0' ? '1' : '0'}`), 'right'],
      ['{}', 'right'],
      ['x', 'right'],
    ] as const)
      await assert.rejects(accountOfKeystore(text, password), (error: Error) => {
        assert.ok(isRegistryError(error, 'CONFIG_ERROR'))
        assert.ok(!error.message.includes(key) && !error.message.includes('right') && !error.message.includes('wrong'))
        return true
      })
  })
})
