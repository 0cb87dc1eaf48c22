import type { Client, FileEntry } from '../../client/index.ts'

/** A photo in JPEG begins with what it says about itself. */
const BEGINNING_BYTES = 256 * 1024
/** Other photos say it at any place, so they are read as a whole, up to this size. */
const MAX_BYTES = 20 * 1024 * 1024

/** Whether a file of an evidence says where it was taken. `undefined`: it could not be looked into. */
export async function placeIn(
  client: Client,
  { overlayId: fileId, mimeType, size }: Pick<FileEntry, 'overlayId' | 'mimeType' | 'size'>,
  signal?: AbortSignal,
): Promise<boolean | undefined> {
  if (!mimeType.startsWith('image/')) return false
  const isJpeg = mimeType === 'image/jpeg'
  if (!isJpeg && size > MAX_BYTES) return undefined
  try {
    const headers = isJpeg ? { Range: `bytes=0-${BEGINNING_BYTES - 1}` } : {}
    const response = await client.downloadFile({ fileId }, { headers, ...(signal && { signal }) })
    return saysPlace(await response.arrayBuffer())
  } catch {
    return undefined
  }
}

/** Whether a photo has a latitude in XMP data, or in EXIF data, which are TIFF data in every format of photos. */
export function saysPlace(photo: ArrayBuffer): boolean {
  // One character for each byte.
  const text = new TextDecoder('latin1').decode(photo)
  return (
    text.includes('GPSLatitude') ||
    [...text.matchAll(/II\*\0|MM\0\*/g)].some(({ 0: mark, index }) => hasLatitude(new DataView(photo, index), mark))
  )
}

/** Tags of TIFF: the directory of the place, and the latitude in it. */
const [GPS, LATITUDE] = [0x8825, 2]

function hasLatitude(tiff: DataView, mark: string): boolean {
  const isLittleEndian = mark.startsWith('I')
  const valueOf = (directory: number, tag: number): number | undefined => {
    const count = tiff.getUint16(directory, isLittleEndian)
    const entries = Array.from({ length: count }, (_, i) => directory + 2 + 12 * i)
    const found = entries.find((entry) => tiff.getUint16(entry, isLittleEndian) === tag)
    return found === undefined ? undefined : tiff.getUint32(found + 8, isLittleEndian)
  }
  const place = valueOf(tiff.getUint32(4, isLittleEndian), GPS)
  return place !== undefined && valueOf(place, LATITUDE) !== undefined
}
