/** An entry of a TIFF directory: tag, type, count and value, little-endian. */
const entry = (tag: number, type: number, value: number): Buffer => {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt16LE(tag, 0)
  bytes.writeUInt16LE(type, 2)
  bytes.writeUInt32LE(1, 4)
  bytes.writeUInt32LE(value, 8)
  return bytes
}

/** EXIF data with a directory of places, which has a latitude if `tag` is 2. */
export const exif = (tag: number): Buffer =>
  Buffer.concat([
    Buffer.from('II*\0\x08\0\0\0\x01\0', 'latin1'),
    entry(0x8825, 4, 26),
    Buffer.from('\0\0\0\0\x01\0', 'latin1'),
    entry(tag, 5, 44),
    Buffer.alloc(28),
  ])

/** The beginning of a photo in JPEG that says where it was taken. */
export const PHOTO_WITH_PLACE = Buffer.concat([Buffer.from('ffd8ffe1004f457869660000', 'hex'), exif(2)])
