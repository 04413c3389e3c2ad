"""What an image really holds, asked of the image itself."""
