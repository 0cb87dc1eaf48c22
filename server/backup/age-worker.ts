/** The jobs of a thread for `secrets.ts`: the library makes the key in JavaScript, which takes about a second. */
interface Job {
  readonly bytes: Uint8Array
  readonly passphrase: string
}

/** The logarithm of scrypt's cost: 128 MiB for each guess. */
const WORK_FACTOR = 17

// Imported in the functions, because tsx turns the other imports of a worker into `require`: 20 times as slow here.

/** Encrypts with a key that is derived from the passphrase. */
export async function encrypt({ bytes, passphrase }: Job): Promise<Uint8Array> {
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  encrypter.setPassphrase(passphrase)
  encrypter.setScryptWorkFactor(WORK_FACTOR)
  return encrypter.encrypt(bytes)
}

/** Throws if the passphrase is wrong or the bytes are damaged. It does not tell which. */
export async function decrypt({ bytes, passphrase }: Job): Promise<Uint8Array> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  return decrypter.decrypt(bytes)
}
